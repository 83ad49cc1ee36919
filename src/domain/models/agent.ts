import type { NodeKind } from "../flow/kinds.ts";
import type { Json, JsonObject, StoredValue } from "../json.ts";

/** Calls of tools that one node may make in all its steps. */
export const MAX_TOOL_CALLS = 200;
/** Tools that a model sees at once. */
export const MAX_TOOLS = 128;

/** Names of the tools that read skills. */
export const SKILL_TOOLS = ["load_skill", "read_skill_file"] as const;

/** An activity's task for a node that calls tools: ask the model, or make one call. */
export type AgentPart = AgentStepPart | ToolCallPart;

export interface AgentStepPart {
  readonly kind: "step";
  /** From 1. */
  readonly step: number;
  /** The conversation so far; null at the first step. */
  readonly conversation: StoredValue | null;
  /** The results of the model's last calls, in their order. */
  readonly answers: readonly ToolAnswer[];
  /** Calls of the steps before. */
  readonly calls_before: number;
  /** The run that this one resumes, where that has not got to the node's end: what it was answered is not asked again. */
  readonly earlier_run?: string;
}

export interface ToolCallPart {
  readonly kind: "tool";
  readonly call: AgentCall;
}

/** A call that the model has made. */
export interface AgentCall {
  /** The model's name for the tool. */
  readonly name: string;
  /** The kind of node that does the same work. */
  readonly type: NodeKind;
  /** Position among the node's `tools`; null if there is no such tool. */
  readonly tool: number | null;
  /** The members of a tool that stands for several actions. */
  readonly action_id?: string;
  /** The version that a tool of a skill reads, as "id@version". */
  readonly skill?: string;
  readonly arguments: StoredValue;
  /** What the model wanted, where a person has approved the call with other arguments. */
  readonly edited_from?: StoredValue;
  /** Whether a person decides first. */
  readonly approval: boolean;
  /** Its result in the run that this one resumes: the call is not made again. */
  readonly reused?: ReusedAnswer;
  /** Why the call is not made. */
  readonly refused?: { readonly code: string; readonly message: string };
}

/** The result of a call: the tool's output, or `{error: {code, message}}`. */
export interface ToolAnswer {
  readonly output: StoredValue;
  readonly failed: boolean;
}

/** The result of a call in an earlier run. */
export interface ReusedAnswer extends ToolAnswer {
  /** The arguments that a person has approved in the place of the model's. */
  readonly edited?: Json;
  /** The status that the call was refused with, for the hint of its error. */
  readonly upstream_status?: number;
}

/** The result of a step. */
export interface AgentStep {
  readonly conversation: StoredValue;
  readonly calls: readonly AgentCall[];
  /** The node's value, if this was the last step. */
  readonly value?: StoredValue;
}

/** Whether a place in a run is that of a call of a tool. */
export const isToolPath = (path: string): boolean => /\/tools\[\d{1,9}\]$/.test(path);

/** Where the n-th call of a node stands in its run, from 0; and its n-th step, from 1. */
export const toolPath = (path: string, index: number): string => `${path}/tools[${index}]`;
export const stepPath = (path: string, step: number): string => `${path}/steps[${step - 1}]`;

/** The path of the node that a step or a call belongs to. */
export function ownerOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** A text as the name of a tool, as both protocols take it. */
export function toolName(text: string): string {
  const name = text.replaceAll(/[^A-Za-z0-9_-]+/g, "_").replaceAll(/^_+|(?<!_)_+$/g, "");
  return name === "" ? "tool" : name.slice(0, 64);
}

/** Makes names unique: chosen names stay, the others get a number where they are taken. */
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

/** The schema of an object without the members that a caller may not choose. */
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
