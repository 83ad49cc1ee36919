import type { Provider } from "../provider.ts";
import { anthropic } from "./anthropic.ts";
import { github } from "./github.ts";
import { http } from "./http.ts";
import { millrace } from "./millrace.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import { postgres } from "./postgres.ts";
import { s3 } from "./s3.ts";
import { slack } from "./slack.ts";
import { smtp } from "./smtp.ts";

/** Every provider that comes with the service. */
export const BUILTIN_PROVIDERS: readonly Provider[] = [
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

export function findBuiltin(providerId: string): Provider | undefined {
  return BUILTIN_PROVIDERS.find(({ provider_id }) => provider_id === providerId);
}
