import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json-schema.ts";
import { actionSchema, triggerSchema } from "../../domain/providers/action.ts";
import type { Action, Trigger } from "../../domain/providers/action.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import type { ConnectionScheme } from "../../domain/providers/connection.ts";
import { credentialSchema, PROVIDER_SOURCES } from "../../domain/providers/provider.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import { asDeclared } from "../http/as-declared.ts";

export const providerSchema = z
  .object({
    provider_id: z.string(),
    provider_version: z.string(),
    name: z.string(),
    description: z.string(),
    provider_group: z.array(z.string()),
    tags: z.array(z.string()),
    icon: z.string().nullable(),
    auth: z.object({
      required: z.boolean().describe("Whether its actions need a connection."),
      schemes: z.array(z.enum(CONNECTION_SCHEMES)),
      fields: jsonObjectSchema.describe(
        "JSON Schema of a connection's `credential`. With several schemes it is a `oneOf` with one schema per scheme; the scheme is its title.",
      ),
    }),
    source: z.enum(PROVIDER_SOURCES),
  })
  .meta({ id: "Provider" });

export function presentProvider(provider: Provider): z.infer<typeof providerSchema> {
  return asDeclared(providerSchema, {
    ...provider,
    auth: {
      required: provider.auth.required,
      schemes: Object.keys(provider.auth.schemes) as ConnectionScheme[],
      fields: credentialSchema(provider),
    },
  });
}

export function presentAction(providerId: string, action: Action): z.infer<typeof actionSchema> {
  return asDeclared(actionSchema, { ...action, provider_id: providerId });
}

export function presentTrigger(providerId: string, trigger: Trigger): z.infer<typeof triggerSchema> {
  return asDeclared(triggerSchema, { ...trigger, provider_id: providerId });
}
