import type { CalledFlow } from "../flow/nodes/called-flow.ts";
import type { Json, StoredValue } from "../json.ts";
import type { AgentPart } from "../models/agent.ts";
import type { NodeRecord, PauseResolution, Progress, RunError, RunInput, RunOutcome, RunUpdate } from "./run.ts";

/** A workflow's report on a node. The activity that persists it masks redacted values and shortens long ones for display. */
export interface NodeReport extends Omit<NodeRecord, "output" | "truncated" | "long_values" | "error"> {
  readonly value?: StoredValue;
  readonly error?: RunError;
  /** When the attempt ended, if the node will be retried (RFC 3339). */
  readonly failed_at?: string;
  /** When a delay ends (RFC 3339). */
  readonly due_at?: string;
  /** Whether an earlier report contained the node's start. */
  readonly announced?: boolean;
}

/** Identifies a run and its flow version, so that the plan can be loaded instead of passed along. */
export interface RunIdentity extends Pick<
  RunInput,
  "org_id" | "run_id" | "project_id" | "flow_version" | "bindings_id"
> {
  readonly temporal_run_id: string;
  readonly started_at: string;
  /** Whether an earlier, lost workflow of the run may have executed nodes. */
  readonly restarted?: true;
}

/** The reports of one workflow task; persisted in one transaction. */
export interface RunReport extends Omit<RunUpdate, keyof RunIdentity | "finished_at" | "nodes"> {
  readonly run: RunIdentity;
  readonly nodes: readonly NodeReport[];
}

/** The values that a node's expressions can read, inline or by reference. */
export interface StoredScope {
  readonly nodes: Readonly<Record<string, StoredValue>>;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly user_id: string | null;
  readonly metadata: Json;
  readonly item?: StoredValue;
  readonly index?: number;
  readonly last?: StoredValue;
}

/** The part of a node's configuration to evaluate. */
export type NodePart = "skip_if" | "node" | "items" | "initial" | "while" | "inputs" | "until" | "approval";

export interface NodeAddress {
  /** IDs from the plan's top level to the node, joined with "/": "map-0/http-0". */
  readonly plan_path: string;
  /** The same with iterations: "map-0[3]/http-0". */
  readonly path: string;
}

export interface EvaluateInput extends NodeAddress {
  readonly run: RunIdentity;
  readonly part: NodePart;
  readonly scope: StoredScope;
}

export interface EvaluateResult {
  readonly value: StoredValue;
  readonly handles?: readonly string[];
}

export interface ExecuteInput extends NodeAddress {
  readonly run: RunIdentity;
  readonly progress: Progress;
  /** From 1. */
  readonly attempt: number;
  readonly scope: StoredScope;
  /** Reports of nodes that settled since the last write, to be persisted together with this node's own. */
  readonly flush: readonly NodeReport[];
  /** Whether the node is in a slice of a map or loop, so that the run's other workflows learn of its end only later. */
  readonly sliced?: true;
  /** The next task of a node that calls tools; `path` is then the path of that task. */
  readonly part?: AgentPart;
  /** The nodes that may be executed after this one; `scope` then includes what they read. */
  readonly chain?: readonly string[];
}

/** The details that an activity attaches to a node's failure. */
export interface FailureDetails {
  readonly retryable: boolean;
  readonly upstream: boolean;
  readonly retry_after_ms?: number;
  readonly upstream_status?: number;
  /** The attempt that failed, if the activity made several. */
  readonly attempt?: number;
  /** For a failure inside a nested flow or child run: the original error, with the node where it began. */
  readonly origin?: RunError;
}

/** A node's value, and the results of the following nodes in its chain that were executed too. */
export type ExecuteResult = StoredValue & {
  readonly ahead?: readonly EndAhead[];
  /** Inline nodes of the chain that are already recorded. */
  readonly recorded?: readonly string[];
};

/** The recorded result of a node that was executed in the activity of an earlier node. */
export interface EndAhead {
  readonly node_id: string;
  readonly value?: StoredValue;
  /** The failure that the node's own activity would have thrown. */
  readonly failure?: { readonly type: string; readonly message: string; readonly details: FailureDetails };
}

export interface LoadDocumentsResult {
  /** How many documents are still being processed; `value` is set only if there are none. */
  readonly pending: number;
  readonly value?: StoredValue;
}

export interface SplitItemsResult {
  /** Length of the whole list. */
  readonly count: number;
  /** The requested items; long ones by reference. */
  readonly items: readonly StoredValue[];
}

export interface StoreOutputsInput {
  readonly org_id: string;
  readonly outputs: Readonly<Record<string, StoredValue>>;
}

export interface AssembleInput {
  readonly org_id: string;
  /** "array": a list of the parts. "concat": the parts are lists, which are joined. "object": each part is a field. */
  readonly kind: "array" | "concat" | "object";
  readonly parts: readonly StoredValue[];
  readonly names?: readonly string[];
}

export interface TakeMemberInput {
  readonly org_id: string;
  readonly value: StoredValue;
  readonly member: string;
}

export interface SplitItemsInput {
  readonly org_id: string;
  readonly items: StoredValue;
  readonly from: number;
  readonly to: number;
}

export interface CreateChildRunInput extends NodeAddress {
  readonly run: RunIdentity;
  readonly progress: Progress;
  /** Reports since the last write, including the start of this node, which must be recorded before the child run exists. */
  readonly flush: readonly NodeReport[];
  readonly inputs: StoredValue;
  /** The flow, if it is one of the node's tools; otherwise the node itself names the flow. */
  readonly called?: CalledFlow;
  /** The run that this one resumes. */
  readonly earlier_run?: string;
  readonly user_id: string | null;
  readonly metadata: Json;
  readonly depth: number;
}

/** The input of a child run's workflow. */
export interface ChildRunStart extends Omit<RunInput, "plan"> {
  /** Set if the run ended before its parent's workflow was lost; it is not executed again. */
  readonly ended?: Pick<RunOutcome, "state" | "outputs" | "error">;
}

export interface ExpirePauseInput {
  readonly run: RunIdentity;
  readonly progress: Progress;
  readonly pause_id: string;
  readonly resolution: PauseResolution | null;
}

export interface ExpirePauseResult {
  /** False if an answer came first, which is then in `resolution`. */
  readonly expired: boolean;
  readonly resolution: PauseResolution | null;
}
