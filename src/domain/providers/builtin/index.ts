import { z } from "zod";
import type { JsonObject } from "../../json.ts";
import { TRIGGER_TYPES } from "../../triggers/trigger.ts";
import type { TriggerType } from "../../triggers/trigger.ts";
import type { Trigger } from "../action.ts";
import type { BuiltinProvider, Provider } from "../provider.ts";
import { anthropic } from "./anthropic.ts";
import { github } from "./github.ts";
import { http } from "./http.ts";
import { millrace } from "./millrace.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import { postgres } from "./postgres.ts";
import { s3 } from "./s3.ts";
import { slack } from "./slack.ts";
import { smtp } from "./smtp.ts";

const PROVIDERS: readonly BuiltinProvider[] = [
  http,
  openaiCompatible,
  anthropic,
  slack,
  github,
  postgres,
  smtp,
  s3,
  millrace,
];

/** Every built-in provider. */
export const BUILTIN_PROVIDERS: readonly Provider[] = PROVIDERS.map((provider) => ({
  ...provider,
  triggers: TRIGGER_TYPES.filter(({ provider_id }) => provider_id === provider.provider_id).map(asTrigger),
}));

export function findBuiltin(providerId: string): Provider | undefined {
  return BUILTIN_PROVIDERS.find(({ provider_id }) => provider_id === providerId);
}

function asTrigger(type: TriggerType): Trigger {
  const { trigger_id, name, description, instructions, kind, payload_schema, sample_payload } = type;
  const config_schema = z.toJSONSchema(type.config, { io: "input" }) as JsonObject;
  return { trigger_id, name, description, instructions, kind, config_schema, payload_schema, sample_payload };
}
