import type { Json } from "../../json.ts";

/** Every node kind. A kind added here does not compile until all its parts exist. */
export const NODE_KINDS = [
  "input",
  "string",
  "url",
  "files",
  "audio",
  "image",
  "output",
  "template",
  "set",
  "condition",
  "guard",
  "http",
  "code",
  "knowledge",
  "llm",
  "router",
  "action",
  "map",
  "loop",
  "subflow",
  "delay",
  "approval",
] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

/**
 * Where a node's work happens. `inline`: in the workflow itself (bounded, deterministic). `local`: a local activity
 * (short). `activity`: a regular activity (slow, long or hostile). `workflow`: made of workflow commands (timers,
 * child workflows, nested flows, pauses).
 */
export type Execution = "inline" | "local" | "activity" | "workflow";

export interface RetryPolicy {
  /** Attempts in all; 1 never retries. */
  readonly max_attempts: number;
  readonly initial_interval_ms: number;
  /** Factor by which each wait grows. */
  readonly backoff: number;
  readonly max_interval_ms: number;
}

/** The node ids an expression or template reads; "*" where that depends on values. */
export type Reads = readonly string[] | "*";

/** One node of a plan: validated, defaults filled in. */
export interface PlanNode {
  readonly id: string;
  readonly type: NodeKind;
  readonly name?: string;
  /** The kind's own configuration, parsed by its schema. A nested flow is in `nested`, not here. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly execution: Execution;
  readonly retry: RetryPolicy;
  /** Longest time of one attempt; absent where the kind has none. */
  readonly timeout_ms?: number;
  readonly on_error: "fail" | "continue" | "branch";
  readonly default_output?: Json;
  readonly skip_if?: string;
  readonly reads: Reads;
  /** Of an output without a text of its own: the member of each source's value that it hands on, where that is not all of it. */
  readonly shown?: Readonly<Record<string, string>>;
  /** The flow inside a map or a loop. */
  readonly nested?: Plan;
}

export interface PlanEdge {
  readonly source: string;
  readonly source_handle: string;
  readonly target: string;
}

export interface FlowSettings {
  readonly timeout_seconds?: number;
  readonly max_concurrent_runs?: number;
  /** US dollars a run and its sub-runs may spend on models. */
  readonly max_cost_usd?: number;
  /** JSON paths whose values are masked before anything is stored. */
  readonly redact?: readonly string[];
}

/** A compiled flow: what the interpreter walks. Plain JSON, at most 1 MiB. */
export interface Plan {
  readonly nodes: readonly PlanNode[];
  readonly edges: readonly PlanEdge[];
  readonly settings: FlowSettings;
}

/** What expressions and templates see. */
export interface Scope {
  readonly nodes: Readonly<Record<string, Json>>;
  readonly inputs: Readonly<Record<string, Json>>;
  readonly run: { readonly id: string; readonly user_id: string | null; readonly metadata: Json };
  readonly item?: Json;
  /** What made a trigger fire: in the expressions of its inputs only. */
  readonly payload?: Json;
  readonly index?: number;
  readonly last?: Json;
}

/** The result of one evaluation of a node: its value, and the handles that are live. */
export interface NodeResult {
  readonly output: Json;
  /** Live handles; ["out"] unless the kind chooses. */
  readonly handles?: readonly string[];
}
