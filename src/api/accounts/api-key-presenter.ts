import { z } from "zod";
import { SCOPES } from "../../domain/accounts/key-limits.ts";
import { API_KEY_KINDS } from "../../stores/accounts/api-keys.ts";
import type { ApiKey } from "../../stores/accounts/api-keys.ts";
import { asDeclared } from "../http/as-declared.ts";

export const apiKeySchema = z
  .object({
    key_id: z.uuid(),
    name: z.string(),
    kind: z.enum(API_KEY_KINDS),
    prefix: z.string().describe("The first characters of the key, to recognise it."),
    created_by: z.uuid().nullable().describe("ID of the user or API key that created it."),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    last_used_at: z.iso
      .datetime()
      .nullable()
      .describe("Time of the last request with the key, accurate to the minute. `null` if it was never used."),
    scopes: z
      .array(z.enum(SCOPES as [string, ...string[]]))
      .nullable()
      .describe("Allowed operations; `null` means all."),
    read_only: z.boolean(),
    projects: z.array(z.uuid()).nullable().describe("Projects the key is restricted to; `null` means all."),
    allowed_origins: z
      .array(z.string())
      .nullable()
      .describe("Origins of the web pages that can use the key; `null` means any client."),
    allowed_addresses: z
      .array(z.string())
      .nullable()
      .describe("IP addresses and networks that can use the key; `null` means all."),
  })
  .meta({ id: "ApiKey" });

export const newApiKeySchema = apiKeySchema
  .extend({ key: z.string().describe("The key itself. Only this response contains it.") })
  .meta({ id: "NewApiKey" });

export function presentApiKey(key: ApiKey): z.infer<typeof apiKeySchema> {
  return asDeclared(apiKeySchema, key);
}
