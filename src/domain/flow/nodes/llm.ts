import { z } from "zod";
import { jsonObjectSchema } from "../../json-schema.ts";
import { createFormCompiler } from "../forms/form.ts";
import {
  skillReferences,
  skillsConfig,
  toolExpressions,
  toolFaults,
  toolReferences,
  toolsConfig,
} from "./llm-tools.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { cel, liquid, NETWORK_RETRY, ONLY_OUT, type ConfigFault, type NodeSpec } from "./spec.ts";

export const llmConfig = z.strictObject({
  ...modelConfig,
  prompt: z.string().min(1).describe("Liquid: what the model is asked"),
  system: z.string().exactOptional().describe("Liquid: what it is told beforehand"),
  messages: z
    .string()
    .exactOptional()
    .describe("CEL that yields `[{role, content}]`: an earlier conversation, put before the prompt"),
  images: z
    .string()
    .exactOptional()
    .describe(
      "CEL that yields a list of pictures that the model sees with the prompt: file ids of uploads, web addresses, base64",
    ),
  temperature: z.number().min(0).max(2).exactOptional(),
  max_tokens: z.int().min(1).max(1_000_000).exactOptional().describe("Longest answer"),
  schema: jsonObjectSchema.exactOptional().describe("JSON Schema 2020-12 of the answer, which is then JSON"),
  tools: toolsConfig.exactOptional().describe("What the model may call before it answers"),
  skills: skillsConfig.exactOptional().describe("Ids, or `id@version`: what the model may read when it needs it"),
  memory: z
    .strictObject({ turns: z.int().min(1).max(100).describe("Earlier questions and answers that it sees") })
    .exactOptional()
    .describe("What runs of the same `user_id` have said to this node"),
  max_steps: z.int().min(1).max(100).default(8).describe("How often the model is asked at most, where it has tools"),
  fallback_models: z
    .array(z.string().min(1).max(256))
    .max(5)
    .exactOptional()
    .describe("Asked in their order where the model cannot answer now"),
});
export type LlmConfig = z.infer<typeof llmConfig>;

export const llmSpec: NodeSpec<LlmConfig> = {
  description: "Asks a language model",
  config: llmConfig,
  execution: ({ tools, skills }) => (tools === undefined && skills === undefined ? "activity" : "workflow"),
  handles: () => ONLY_OUT,
  expressions: ({ prompt, system, messages, images, tools = [] }) => [
    liquid(prompt, "prompt"),
    ...(system === undefined ? [] : [liquid(system, "system")]),
    ...(messages === undefined ? [] : [cel(messages, "messages")]),
    ...(images === undefined ? [] : [cel(images, "images")]),
    ...toolExpressions(tools),
  ],
  shown: ({ schema }) => (schema === undefined ? "text" : "json"),
  faults: ({ schema, images, tools, skills }) => [
    ...schemaFaults(schema),
    ...toolFaults(tools ?? []),
    ...(images !== undefined && (tools ?? skills) !== undefined ? [IMAGES_AND_TOOLS] : []),
  ],
  references: ({ connection_id, tools = [], skills = [] }) => [
    ...connectionReference(connection_id),
    ...toolReferences(tools),
    ...skillReferences(skills),
  ],
  model: ({ model, connection_id }) => ({ model, connection_id }),
  retry: NETWORK_RETRY,
  timeout_ms: 300_000,
  io: {
    output: ({ schema }) => ({
      type: "object",
      properties: {
        text: { type: "string" },
        json: schema ?? { type: "null" },
        tool_calls: { type: "array", items: { type: "object" } },
        usage: { type: "object" },
        finish_reason: { type: "string" },
        citations: { type: "array", items: { type: "object" } },
      },
      required: ["text", "json", "tool_calls", "usage", "finish_reason", "citations"],
    }),
    pause: ({ tools = [] }) =>
      tools.some(({ approval }) => approval)
        ? { below: "tools", form: null, actions: [{ id: "approve" }, { id: "reject" }] }
        : undefined,
  },
};

const IMAGES_AND_TOOLS: ConfigFault = {
  path: ["images"],
  severity: "error",
  message: "A node with tools or skills shows its model no pictures; describe them in a node before it",
};

function schemaFaults(schema: LlmConfig["schema"]): ConfigFault[] {
  if (schema === undefined) return [];
  const checked = createFormCompiler()(schema);
  return checked.ok ? [] : [{ path: ["schema"], severity: "error", message: checked.message }];
}
