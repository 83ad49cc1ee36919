import type { NodeKind } from "../flow/kinds.ts";
import type { Json, JsonObject, StoredValue } from "../json.ts";

/** Most tool calls of one node, in all its steps. */
export const MAX_TOOL_CALLS = 200;
/** Most tools that a model receives at a time. */
export const MAX_TOOLS = 128;

export const SKILL_TOOLS = ["load_skill", "read_skill_file"] as const;

/** One activity's task for a node that calls tools: ask the model, or make one tool call. */
export type AgentPart = AgentStepPart | ToolCallPart;

export interface AgentStepPart {
  readonly kind: "step";
  /** From 1. */
  readonly step: number;
  /** The conversation so far; null at the first step. */
  readonly conversation: StoredValue | null;
  /** The results of the model's last tool calls, in order. */
  readonly answers: readonly ToolAnswer[];
  /** Number of tool calls in the earlier steps. */
  readonly calls_before: number;
  /** The run that this one resumes, if that run did not finish the node: answers that its model already gave are reused. */
  readonly earlier_run?: string;
}

export interface ToolCallPart {
  readonly kind: "tool";
  readonly call: AgentCall;
}

/** A tool call that the model made. */
export interface AgentCall {
  /** The model's name for the tool. */
  readonly name: string;
  /** The node type that does the same work. */
  readonly type: NodeKind;
  /** Index in the node's `tools`; null if there is no such tool. */
  readonly tool: number | null;
  /** Set for a tool that stands for several actions. */
  readonly action_id?: string;
  /** The skill version that a skill tool reads, as "id@version". */
  readonly skill?: string;
  readonly arguments: StoredValue;
  /** The model's arguments, if a person approved the call with other ones. */
  readonly edited_from?: StoredValue;
  /** Whether the call needs a person's approval. */
  readonly approval: boolean;
  /** The call's result in the run that this one resumes; the call is not repeated. */
  readonly reused?: ReusedAnswer;
  /** Why the call is not made. */
  readonly refused?: { readonly code: string; readonly message: string };
}

/** The result of a tool call: the tool's output, or `{error: {code, message}}`. */
export interface ToolAnswer {
  readonly output: StoredValue;
  readonly failed: boolean;
}

/** The result of a tool call in an earlier run. */
export interface ReusedAnswer extends ToolAnswer {
  /** The arguments that a person approved instead of the model's. */
  readonly edited?: Json;
  /** The HTTP status of a rejected call, for the hint of its error. */
  readonly upstream_status?: number;
}

export interface AgentStep {
  readonly conversation: StoredValue;
  readonly calls: readonly AgentCall[];
  /** The node's value, if this was the last step. */
  readonly value?: StoredValue;
}

/** Whether a path in a run is that of a tool call. */
export const isToolPath = (path: string): boolean => /\/tools\[\d{1,9}\]$/.test(path);

/** The path of a node's tool call, by its index from 0; `stepPath` takes a step's number from 1. */
export const toolPath = (path: string, index: number): string => `${path}/tools[${index}]`;
export const stepPath = (path: string, step: number): string => `${path}/steps[${step - 1}]`;

/** The path of the node that a step or a call belongs to. */
export function ownerOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** A text as a tool name that both model APIs accept. */
export function toolName(text: string): string {
  const name = text.replaceAll(/[^A-Za-z0-9_-]+/g, "_").replaceAll(/^_+|(?<!_)_+$/g, "");
  return name === "" ? "tool" : name.slice(0, 64);
}

/** Makes names unique: chosen names stay, other names that are taken get a number. */
export function distinctNames(wanted: ReadonlyArray<{ readonly name: string; readonly chosen: boolean }>): string[] {
  const taken = new Set([...SKILL_TOOLS, ...wanted.filter(({ chosen }) => chosen).map(({ name }) => name)]);
  return wanted.map(({ name, chosen }) => {
    if (chosen) return name;
    let free = name;
    for (let n = 2; taken.has(free); n += 1) free = `${name.slice(0, 60)}_${n}`;
    taken.add(free);
    return free;
  });
}

/** The schema of an object without the fields that a caller must not set. */
export function withoutMembers(schema: JsonObject, names: readonly string[]): JsonObject {
  if (names.length === 0) return schema;
  const properties = (schema["properties"] ?? {}) as JsonObject;
  const required = (schema["required"] ?? []) as readonly string[];
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
    required: required.filter((name) => !names.includes(name)),
  };
}
