import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../domain/json-schema.ts";
import type { Action, Trigger } from "../../domain/providers/action.ts";
import { CONNECTION_SCHEMES } from "../../domain/providers/connection.ts";
import type { ConnectionScheme } from "../../domain/providers/connection.ts";
import { credentialSchema, PROVIDER_SOURCES } from "../../domain/providers/provider.ts";
import type { Provider } from "../../domain/providers/provider.ts";

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
        "JSON Schema of a connection's `credential`; with several schemes, `oneOf` them, each with the scheme as its title.",
      ),
    }),
    source: z.enum(PROVIDER_SOURCES),
  })
  .meta({ id: "Provider" });

export function presentProvider(provider: Provider): z.infer<typeof providerSchema> {
  return {
    provider_id: provider.provider_id,
    provider_version: provider.provider_version,
    name: provider.name,
    description: provider.description,
    provider_group: [...provider.provider_group],
    tags: [...provider.tags],
    icon: provider.icon,
    auth: {
      required: provider.auth.required,
      schemes: Object.keys(provider.auth.schemes) as ConnectionScheme[],
      fields: credentialSchema(provider),
    },
    source: provider.source,
  };
}

export const actionSchema = z
  .object({
    action_id: z.string(),
    provider_id: z.string(),
    name: z.string(),
    description: z.object({
      human: z.string().describe("For people."),
      llm: z.string().describe("For a model that may call it."),
    }),
    input_schema: jsonSchema,
    output_schema: jsonSchema,
    annotations: z.object({
      read_only: z.boolean().describe("Changes nothing."),
      destructive: z.boolean().describe("May overwrite or delete."),
      idempotent: z.boolean().describe("Done twice it is the same as done once; only such actions are retried."),
    }),
    requires_connection: z.boolean(),
    timeout_seconds: z.int().describe("Default time limit of a run."),
    version: z.string(),
  })
  .meta({ id: "Action" });

export function presentAction(providerId: string, action: Action): z.infer<typeof actionSchema> {
  return {
    action_id: action.action_id,
    provider_id: providerId,
    name: action.name,
    description: { ...action.description },
    input_schema: action.input_schema,
    output_schema: action.output_schema,
    annotations: { ...action.annotations },
    requires_connection: action.requires_connection,
    timeout_seconds: action.timeout_seconds,
    version: action.version,
  };
}

export const triggerSchema = z
  .object({
    trigger_id: z.string(),
    provider_id: z.string(),
    name: z.string(),
    description: z.string(),
    instructions: z.string().describe("Setup instructions."),
    kind: z.enum(["webhook", "schedule", "poll", "run_event"]),
    config_schema: jsonSchema,
    payload_schema: jsonSchema,
    sample_payload: jsonValueSchema,
  })
  .meta({ id: "ProviderTrigger" });

export function presentTrigger(providerId: string, trigger: Trigger): z.infer<typeof triggerSchema> {
  return {
    trigger_id: trigger.trigger_id,
    provider_id: providerId,
    name: trigger.name,
    description: trigger.description,
    instructions: trigger.instructions,
    kind: trigger.kind,
    config_schema: trigger.config_schema,
    payload_schema: trigger.payload_schema,
    sample_payload: trigger.sample_payload,
  };
}
