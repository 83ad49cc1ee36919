import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import type { Action, Trigger } from "../../domain/providers/action.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import type { ConnectionScheme } from "../../domain/providers/connection.ts";
import { credentialSchema, PROVIDER_SOURCES } from "../../domain/providers/provider.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import { asDeclared } from "../http/as-declared.ts";

const jsonSchema = jsonObjectSchema.describe("A JSON Schema (2020-12).");

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

export const actionSchema = z
  .object({
    action_id: z.string(),
    provider_id: z.string(),
    name: z.string(),
    description: z.object({
      human: z.string().describe("Description for people."),
      llm: z.string().describe("Description for a model that can call the action."),
    }),
    input_schema: jsonSchema,
    output_schema: jsonSchema,
    annotations: z.object({
      read_only: z.boolean().describe("The action changes nothing."),
      destructive: z.boolean().describe("The action may overwrite or delete data."),
      idempotent: z.boolean().describe("Running it twice has the same effect as once. Only such actions are retried."),
    }),
    requires_connection: z.boolean(),
    timeout_seconds: z.int().describe("Default time limit of one run, in seconds."),
    version: z.string(),
  })
  .meta({ id: "Action" });

export function presentAction(providerId: string, action: Action): z.infer<typeof actionSchema> {
  return asDeclared(actionSchema, { ...action, provider_id: providerId });
}

export const triggerSchema = z
  .object({
    trigger_id: z.string(),
    provider_id: z.string(),
    name: z.string(),
    description: z.string(),
    instructions: z.string().describe("How to set up the trigger at the provider."),
    kind: z.enum(["webhook", "schedule", "poll", "run_event"]),
    config_schema: jsonSchema,
    payload_schema: jsonSchema,
    sample_payload: jsonValueSchema,
  })
  .meta({ id: "ProviderTrigger" });

export function presentTrigger(providerId: string, trigger: Trigger): z.infer<typeof triggerSchema> {
  return asDeclared(triggerSchema, { ...trigger, provider_id: providerId });
}
