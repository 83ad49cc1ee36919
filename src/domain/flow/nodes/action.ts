import { z } from "zod";
import { jsonValueSchema } from "../../json-schema.ts";
import { inputReferences } from "./action-inputs.ts";
import { connectionReference } from "./model-choice.ts";
import { defineNode, liquidInside, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  provider_id: z.string().min(1).max(200).describe("ID of the provider; GET /v2/providers lists them"),
  action_id: z.string().min(1).max(200).describe("ID of one of the provider's actions"),
  connection_id: z.uuid().toLowerCase().exactOptional().describe("The connection whose credential the action uses"),
  inputs: z
    .record(z.string().min(1).max(200), jsonValueSchema)
    .default({})
    .describe(
      "Values for the action's input_schema; Liquid in every string. Text for a field that is not a string is read as JSON",
    ),
});
export type ActionConfig = z.infer<typeof config>;

export const actionSpec = defineNode({
  title: "Action",
  group: "services",
  icon: "plug",
  description: "Runs an action of a provider",
  example: { provider_id: "slack", action_id: "send_to_webhook", inputs: { text: "{{ in-0 }}" } },
  config,
  effect: true,
  execution: () => "activity",
  expressions: ({ inputs }) => liquidInside(inputs, "inputs"),
  references: ({ provider_id, action_id, connection_id, inputs }) => [
    { kind: "provider", id: provider_id, path: ["provider_id"] },
    {
      kind: "action",
      id: `${provider_id}/${action_id}`,
      path: ["action_id"],
      use: {
        connected: connection_id !== undefined,
        inputs: { names: Object.keys(inputs), member: "inputs", all: true },
      },
    },
    ...connectionReference(connection_id),
    ...inputReferences(provider_id, action_id, inputs, "inputs"),
  ],
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 60_000,
  io: { output: () => ({}), outputOf: "action" },
});
