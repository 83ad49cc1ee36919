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
    prefix: z.string().describe("The first characters of the key, to recognise it by."),
    created_by: z.uuid().nullable().describe("Id of the user or API key that made it."),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable().describe("To the minute."),
    scopes: z
      .array(z.enum(SCOPES as [string, ...string[]]))
      .nullable()
      .describe("Only these operations; null: all."),
    read_only: z.boolean(),
    projects: z.array(z.uuid()).nullable().describe("Only requests about these projects; null: all."),
    allowed_origins: z.array(z.string()).nullable().describe("Only web pages of these origins; null: any client."),
    allowed_addresses: z.array(z.string()).nullable().describe("Only these addresses and networks; null: all."),
  })
  .meta({ id: "ApiKey" });

export const newApiKeySchema = apiKeySchema
  .extend({ key: z.string().describe("The key itself. Only this answer has it.") })
  .meta({ id: "NewApiKey" });

export function presentApiKey(key: ApiKey): z.infer<typeof apiKeySchema> {
  return asDeclared(apiKeySchema, key);
}
