import { z } from "zod";
import type { Json } from "../../json.ts";
import { TRIGGER_TYPES, type TriggerType } from "../../triggers/trigger.ts";
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

export const BUILTIN_PROVIDERS: readonly Provider[] = PROVIDERS.map((provider) => ({
  ...provider,
  triggers: TRIGGER_TYPES.filter(({ provider_id }) => provider_id === provider.provider_id).map(asTrigger),
}));

export function findBuiltin(providerId: string): Provider | undefined {
  return BUILTIN_PROVIDERS.find(({ provider_id }) => provider_id === providerId);
}

function asTrigger({ config, ...type }: TriggerType): Trigger {
  return { ...type, config_schema: z.toJSONSchema(config, { io: "input" }) as Record<string, Json> };
}
