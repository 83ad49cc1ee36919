import { z } from "zod";
import { jsonObjectSchema } from "../../json-schema.ts";
import { OWN_MEMBERS, REASONING_EFFORTS } from "../../models/chat.ts";
import { createFormCompiler } from "../forms/form.ts";
import {
  skillReferences,
  skillsConfig,
  toolAsks,
  toolExpressions,
  toolFaults,
  toolReferences,
  toolsConfig,
} from "./llm-tools.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { cel, defineNode, liquid, NETWORK_RETRY, type ConfigFault } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  prompt: z.string().min(1).describe("Liquid: the prompt of the model"),
  system: z.string().exactOptional().describe("Liquid: its instructions"),
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
  max_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .exactOptional()
    .describe("Longest answer; sent as `max_completion_tokens` to models that want it so"),
  top_p: z.number().min(0).max(1).exactOptional(),
  stop: z
    .array(z.string().min(1).max(100))
    .min(1)
    .max(4)
    .exactOptional()
    .describe("The answer ends before any of these"),
  seed: z.int().exactOptional().describe("The same answer for the same question, as far as the endpoint can"),
  reasoning_effort: z.enum(REASONING_EFFORTS).exactOptional().describe("How much a model that reasons may reason"),
  tool_choice: z
    .union([z.enum(["auto", "required", "none"]), z.strictObject({ tool: z.string().min(1).max(64) })])
    .exactOptional()
    .describe("Whether the model has to call a tool, or this one, at the first step; default auto"),
  extra_body: jsonObjectSchema
    .exactOptional()
    .describe("Members that are added to the request as they are, for what an endpoint has beside the protocol"),
  schema: jsonObjectSchema.exactOptional().describe("JSON Schema 2020-12 of the answer, which is then JSON"),
  tools: toolsConfig.exactOptional().describe("What the model may call before it answers"),
  skills: skillsConfig.exactOptional().describe("Ids, or `id@version`: what the model may read when it needs it"),
  memory: z
    .strictObject({ turns: z.int().min(1).max(100).describe("Earlier questions and answers that it sees") })
    .exactOptional()
    .describe("What runs of the same `user_id` have said to this node"),
  max_steps: z.int().min(1).max(100).default(8).describe("Most calls of the model, where it has tools"),
  fallback_models: z
    .array(z.string().min(1).max(256))
    .max(5)
    .exactOptional()
    .describe("Asked in their order where the model cannot answer now"),
});
export type LlmConfig = z.infer<typeof config>;

export const llmSpec = defineNode({
  description: "Asks a language model",
  config,
  execution: ({ tools, skills }) => (tools === undefined && skills === undefined ? "activity" : "workflow"),
  expressions: ({ prompt, system, messages, images, tools = [] }) => [
    liquid(prompt, "prompt"),
    ...(system === undefined ? [] : [liquid(system, "system")]),
    ...(messages === undefined ? [] : [cel(messages, "messages")]),
    ...(images === undefined ? [] : [cel(images, "images")]),
    ...toolExpressions(tools),
  ],
  outputMember: ({ schema }) => (schema === undefined ? "text" : "json"),
  faults: ({ schema, tools, skills, tool_choice, extra_body }) => [
    ...schemaFaults(schema),
    ...toolFaults(tools ?? []),
    ...(tool_choice !== undefined && (tools ?? skills) === undefined ? [CHOICE_WITHOUT_TOOLS] : []),
    ...extraFaults(extra_body),
  ],
  references: ({ connection_id, tools = [], skills = [] }) => [
    ...connectionReference(connection_id),
    ...toolReferences(tools),
    ...skillReferences(skills),
  ],
  asks: ({ tools = [] }) => toolAsks(tools),
  remembers: ({ memory }) => memory !== undefined,
  model: ({ model, connection_id, fallback_models }) => ({ model, connection_id, fallback_models }),
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
});

const CHOICE_WITHOUT_TOOLS: ConfigFault = {
  path: ["tool_choice"],
  severity: "error",
  message: "There are no tools to choose from",
};

/** Longest members that are added to a request (characters of JSON). */
const MAX_EXTRA_CHARS = 10_000;

function extraFaults(extra: LlmConfig["extra_body"]): ConfigFault[] {
  if (extra === undefined) return [];
  const fault = (message: string, ...path: string[]): ConfigFault => ({
    path: ["extra_body", ...path],
    severity: "error",
    message,
  });
  const own = Object.keys(extra).filter((name) => OWN_MEMBERS.includes(name));
  return [
    ...own.map((name) => fault(`${name} is set by the node`, name)),
    ...(JSON.stringify(extra).length > MAX_EXTRA_CHARS ? [fault(`At most ${MAX_EXTRA_CHARS} characters of JSON`)] : []),
  ];
}

function schemaFaults(schema: LlmConfig["schema"]): ConfigFault[] {
  if (schema === undefined) return [];
  const checked = createFormCompiler()(schema);
  return checked.ok ? [] : [{ path: ["schema"], severity: "error", message: checked.message }];
}
