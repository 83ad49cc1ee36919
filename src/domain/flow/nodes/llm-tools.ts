import { z } from "zod";
import { listUpTo, textUpTo } from "../../schema-parts.ts";
import { jsonValueSchema } from "../../json-schema.ts";
import { SKILL_TOOLS } from "../../models/agent.ts";
import { knowledgeQuerySchema } from "../../knowledge/query.ts";
import { readSkillReference } from "../../skills/reference.ts";
import { inputReferences } from "./action-inputs.ts";
import { assigneesConfig, type Asked } from "./assignees.ts";
import { ONE_VERSION, callReferences, calledFlow, hasOneVersion } from "./called-flow.ts";
import { connectionReference } from "./model-choice.ts";
import { liquidInside, type ConfigFault, type Expression, type NodeReference } from "./spec.ts";

/** Most entries in a node's tools. All actions of a provider selected by `mcp` count as one. */
const MAX_LISTED_TOOLS = 64;

const common = {
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .exactOptional()
    .describe("Name of the tool for the model"),
  approval: z.boolean().default(false).describe("Whether a person must approve each call"),
  assignees: assigneesConfig
    .exactOptional()
    .describe("Who can decide if approval is true; if omitted, everyone who can resume runs"),
};
const connection_id = z
  .uuid()
  .toLowerCase()
  .exactOptional()
  .describe("The connection whose credential the action uses");

const actionTool = z.strictObject({
  type: z.literal("action"),
  provider_id: textUpTo(200).describe("ID of the provider; GET /v2/providers lists them"),
  action_id: textUpTo(200).describe("ID of one of the provider's actions"),
  connection_id,
  fixed_inputs: z
    .record(textUpTo(200), jsonValueSchema)
    .default({})
    .describe("Inputs that the model neither sees nor chooses; Liquid in every string"),
  ...common,
});

const knowledgeTool = z.strictObject({
  type: z.literal("knowledge"),
  knowledge_base_id: z.uuid().toLowerCase().describe("ID of the knowledge base to search"),
  top_k: knowledgeQuerySchema.shape.top_k,
  ...common,
});

const subflowTool = z
  .strictObject({
    type: z.literal("subflow"),
    project_id: textUpTo(64).toLowerCase().describe("ID of the project whose flow is run"),
    ...calledFlow,
    description: textUpTo(1024).exactOptional().describe("What the tool is for; default: the project's description"),
    ...common,
  })
  .refine(hasOneVersion, ONE_VERSION);

const mcpTool = z.strictObject({
  type: z.literal("mcp"),
  provider_id: textUpTo(200).describe("ID of the imported provider whose actions are tools"),
  only: listUpTo(128, textUpTo(200)).exactOptional().describe("Actions to offer; default: all"),
  connection_id,
  ...common,
});

const toolSchema = z.discriminatedUnion("type", [actionTool, knowledgeTool, subflowTool, mcpTool]);
export type LlmTool = z.infer<typeof toolSchema>;

export const toolsConfig = listUpTo(MAX_LISTED_TOOLS, toolSchema);

const skillReference = z
  .string()
  .max(64)
  .refine(
    (text) => readSkillReference(text) !== null,
    "Must be a skill ID, or id@version with a number, latest or default",
  );

export const skillsConfig = listUpTo(32, skillReference);

export function skillReferences(skills: readonly string[]): NodeReference[] {
  return skills.flatMap((text, at) => {
    const found = readSkillReference(text);
    return found === null ? [] : [{ kind: "skill", id: found.skill_id, version: found.version, path: ["skills", at] }];
  });
}

export function toolReferences(tools: readonly LlmTool[]): NodeReference[] {
  return tools.flatMap((tool, at) =>
    referencesOf(tool).map((each) => ({ ...each, path: ["tools", at, ...each.path] })),
  );
}

function referencesOf(tool: LlmTool): NodeReference[] {
  switch (tool.type) {
    case "knowledge":
      return [{ kind: "knowledge_base", id: tool.knowledge_base_id, path: ["knowledge_base_id"] }];
    case "subflow":
      return callReferences(tool);
    case "action": {
      const { provider_id, action_id, connection_id, fixed_inputs } = tool;
      const inputs = { names: Object.keys(fixed_inputs), member: "fixed_inputs", all: false };
      const use = { connected: connection_id !== undefined, inputs };
      return [
        { kind: "provider", id: provider_id, path: ["provider_id"] },
        { kind: "action", id: `${provider_id}/${action_id}`, path: ["action_id"], use },
        ...connectionReference(connection_id),
        ...inputReferences(provider_id, action_id, fixed_inputs, "fixed_inputs"),
      ];
    }
    case "mcp": {
      const { provider_id, connection_id, only = [] } = tool;
      const use = { connected: connection_id !== undefined };
      return [
        { kind: "provider", id: provider_id, path: ["provider_id"], ...(only.length === 0 && { use }) },
        ...only.map((id, at): NodeReference => ({
          kind: "action",
          id: `${provider_id}/${id}`,
          path: ["only", at],
          use,
        })),
        ...connectionReference(connection_id),
      ];
    }
    default:
      return tool satisfies never;
  }
}

/** The people who approve the node's tool calls. */
export function toolAsks(tools: readonly LlmTool[]): Asked[] {
  return tools.flatMap(({ assignees }, at) =>
    assignees === undefined ? [] : [{ assignees, required_approvals: 1, path: ["tools", at, "assignees"] }],
  );
}

/** The templates in the tools' settings that the model does not choose. */
export function toolExpressions(tools: readonly LlmTool[]): Expression[] {
  return tools.flatMap((tool, at) =>
    tool.type === "action" ? liquidInside(tool.fixed_inputs, "tools", at, "fixed_inputs") : [],
  );
}

const UNASKED = { severity: "error", message: "Assignees are asked only if approval is true" } as const;

/** Finds tools that a model could not tell apart, and assignees who would never be asked. */
export function toolFaults(tools: readonly LlmTool[]): ConfigFault[] {
  const unasked = tools.flatMap(({ approval, assignees }, at): ConfigFault[] =>
    assignees === undefined || approval ? [] : [{ ...UNASKED, path: ["tools", at, "assignees"] }],
  );
  const alike = tools.flatMap(({ name }, at): ConfigFault[] => {
    const isOurs = SKILL_TOOLS.some((each) => each === name);
    const isTaken = isOurs || (name !== undefined && tools.findIndex((each) => each.name === name) < at);
    const message = isOurs
      ? `${name} is reserved for the tool that reads skills`
      : `Another tool is already named ${name}`;
    return isTaken ? [{ path: ["tools", at, "name"], severity: "error", message }] : [];
  });
  return [...unasked, ...alike];
}
