import { z } from "zod";
import { listUpTo, textUpTo, wholeNumber } from "../../schema-parts.ts";
import { jsonObjectSchema, objectSchema } from "../../json-schema.ts";
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
import { connectionReference, maxTokens, modelConfig } from "./model-choice.ts";
import { cel, defineNode, liquid, NETWORK_RETRY, type ConfigFault } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  prompt: z.string().min(1).describe("Liquid template of the prompt"),
  system: z.string().exactOptional().describe("Liquid template of the system instructions"),
  messages: z
    .string()
    .exactOptional()
    .describe("CEL expression that returns `[{role, content}]`: an earlier conversation, placed before the prompt"),
  images: z
    .string()
    .exactOptional()
    .describe(
      "CEL expression that returns a list of images to send with the prompt: file IDs of uploads, URLs, base64",
    ),
  temperature: z.number().min(0).max(2).exactOptional(),
  max_tokens: maxTokens,
  top_p: z.number().min(0).max(1).exactOptional(),
  stop: listUpTo(4, textUpTo(100)).exactOptional().describe("The answer ends before any of these texts"),
  seed: z.int().exactOptional().describe("Seed for repeatable answers, if the endpoint supports it"),
  reasoning_effort: z.enum(REASONING_EFFORTS).exactOptional().describe("How much a reasoning model reasons"),
  tool_choice: z
    .union([z.enum(["auto", "required", "none"]), z.strictObject({ tool: textUpTo(64) })])
    .exactOptional()
    .describe("Whether the model must call a tool, or which one, in the first step; default auto"),
  extra_body: jsonObjectSchema
    .exactOptional()
    .describe("Fields added to the request unchanged, for features of an endpoint beyond the standard protocol"),
  schema: jsonObjectSchema.exactOptional().describe("JSON Schema 2020-12 of the answer, which is then JSON"),
  tools: toolsConfig.exactOptional().describe("Tools the model can call before it answers"),
  skills: skillsConfig
    .exactOptional()
    .describe("Skill IDs, or `id@version`, that the model can read when it needs them"),
  memory: z
    .strictObject({ turns: wholeNumber(1, 100).describe("Number of earlier questions and answers the model sees") })
    .exactOptional()
    .describe("What this node remembers from earlier runs of the same `user_id`"),
  max_steps: wholeNumber(1, 100).default(8).describe("Maximum number of model calls if the node has tools"),
  fallback_models: z
    .array(textUpTo(256))
    .max(5)
    .exactOptional()
    .describe("Models to try in this order if the model is unavailable"),
});
export type LlmConfig = z.infer<typeof config>;

export const llmSpec = defineNode({
  title: "Language model",
  group: "models",
  icon: "sparkle",
  description: "Asks a language model",
  example: { system: "Answer in one sentence.", prompt: "{{ in-0 }}" },
  advanced: [
    "connection_id",
    "messages",
    "images",
    "temperature",
    "max_tokens",
    "top_p",
    "stop",
    "seed",
    "reasoning_effort",
    "tool_choice",
    "extra_body",
    "max_steps",
    "fallback_models",
  ],
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
    ...(tool_choice !== undefined && (tools ?? skills) === undefined
      ? [fault("The node has no tools to choose from", "tool_choice")]
      : []),
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
    output: ({ schema }) =>
      objectSchema({
        text: { type: "string" },
        json: schema ?? { type: "null" },
        tool_calls: { type: "array", items: { type: "object" } },
        usage: { type: "object" },
        finish_reason: { type: "string" },
        citations: { type: "array", items: { type: "object" } },
      }),
    pause: ({ tools = [] }) =>
      tools.some(({ approval }) => approval)
        ? { below: "tools", form: null, actions: [{ id: "approve" }, { id: "reject" }] }
        : undefined,
  },
});

const fault = (message: string, ...path: string[]): ConfigFault => ({ path, severity: "error", message });

/** Longest additional request fields (characters of JSON). */
const MAX_EXTRA_CHARS = 10_000;

function extraFaults(extra: LlmConfig["extra_body"]): ConfigFault[] {
  if (extra === undefined) return [];
  const own = Object.keys(extra).filter((name) => OWN_MEMBERS.includes(name));
  return [
    ...own.map((name) => fault(`${name} is set by the node and cannot be set here`, "extra_body", name)),
    ...(JSON.stringify(extra).length > MAX_EXTRA_CHARS
      ? [fault(`Must be at most ${MAX_EXTRA_CHARS} characters of JSON`, "extra_body")]
      : []),
  ];
}

function schemaFaults(schema: LlmConfig["schema"]): ConfigFault[] {
  if (schema === undefined) return [];
  const checked = createFormCompiler()(schema);
  return checked.ok ? [] : [fault(checked.message, "schema")];
}
