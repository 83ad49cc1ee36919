import type { BlobRef, Json, JsonObject, StoredValue } from "../json.ts";
import type { NodeKind } from "../flow/kinds.ts";
import type { Plan } from "../flow/plan/types.ts";
import type { Assignees } from "./assignees.ts";

/** From which state a run may go to which. The type of a state is derived from this table. */
export const RUN_TRANSITIONS = {
  PENDING: ["RUNNING", "FAILED", "CANCELLED"],
  RUNNING: ["PAUSED", "COMPLETED", "FAILED", "CANCELLED"],
  // An expired or cancelled pause can take the run to a terminal state without a resume.
  PAUSED: ["RESUMED", "FAILED", "CANCELLED"],
  RESUMED: ["PAUSED", "COMPLETED", "FAILED", "CANCELLED"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
} as const satisfies Record<string, readonly string[]>;

export type RunState = keyof typeof RUN_TRANSITIONS;
export const RUN_STATES = Object.keys(RUN_TRANSITIONS) as RunState[];

/**
 * Transitions that one write may combine, because nothing was persisted between them: a flow of inline nodes starts and
 * completes in one write; a pause answered while another branch still runs makes a running run a resumed one.
 */
export const COALESCED_TRANSITIONS = [
  ["PENDING", "PAUSED"],
  ["PENDING", "COMPLETED"],
  ["RUNNING", "RESUMED"],
] as const satisfies ReadonlyArray<readonly [RunState, RunState]>;

export const TERMINAL_STATES = ["COMPLETED", "FAILED", "CANCELLED"] as const satisfies readonly RunState[];
export type TerminalState = (typeof TERMINAL_STATES)[number];

export function isTerminal(state: RunState): state is TerminalState {
  return (TERMINAL_STATES as readonly RunState[]).includes(state);
}

/** Whether a run is terminal or paused: synchronous callers wait for this. */
export function isSettled(state: RunState): boolean {
  return isTerminal(state) || state === "PAUSED";
}

export const RUN_TYPES = ["api", "batch", "trigger", "scheduled", "sub_workflow"] as const;
export type RunType = (typeof RUN_TYPES)[number];
export const RAN_BY_TYPES = ["org_api_key", "user", "system"] as const;
export type RanByType = (typeof RAN_BY_TYPES)[number];

export const NODE_STATES = ["RUNNING", "RETRYING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED"] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** Whether a node's state is terminal. */
export function isNodeEnd(state: NodeState): boolean {
  return state !== "RUNNING" && state !== "RETRYING" && state !== "PAUSED";
}

export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly node_id: string | null;
  /** Path of the node, such as "map-0[2]/guard-0"; null if no node is to blame. */
  readonly path: string | null;
  readonly attempt: number;
  readonly retryable: boolean;
  /** An upstream service is to blame: a sync caller sees 502. */
  readonly upstream?: boolean;
  /** The upstream's HTTP status, if it answered: the hint depends on it. */
  readonly upstream_status?: number;
}

/** What is recorded of one node of one run. Upserts: a later record of the same path replaces the earlier one. */
export interface NodeRecord {
  readonly node_id: string;
  readonly type: NodeKind;
  readonly path: string;
  readonly state: NodeState;
  readonly attempts: number;
  readonly inputs?: Json;
  readonly output?: Json;
  readonly truncated?: boolean;
  readonly long_values?: LongValues;
  /** The passages that the value rests on. */
  readonly citations?: readonly Json[];
  readonly error?: RunError | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** When the next attempt of a failed node begins (RFC 3339). */
  readonly next_attempt_at?: string;
  /** Whether it was taken over from the run that this one resumes. */
  readonly reused?: boolean;
}

/** The values of a node that its record shows in part, and where they are whole: masked as in the record. */
export type LongValues = Partial<Readonly<Record<NodeValue, BlobRef>>>;

export const NODE_VALUES = ["inputs", "output"] as const;
export type NodeValue = (typeof NODE_VALUES)[number];

/** Counts over the nodes of the top level. */
export interface Progress {
  readonly total_nodes: number;
  readonly started_nodes: number;
  readonly completed_nodes: number;
  readonly skipped_nodes: number;
  readonly current_node: string | null;
}

export const PAUSE_KINDS = ["approval", "form", "choice"] as const;
export type PauseKind = (typeof PAUSE_KINDS)[number];

export interface PauseAction {
  readonly id: string;
  readonly label?: string;
}

/** A pause as it is opened by a workflow. */
export interface PauseOpening {
  readonly pause_id: string;
  readonly workflow_id: string;
  readonly node_id: string;
  readonly path: string;
  readonly kind: PauseKind;
  readonly message: string;
  readonly data: Json;
  readonly form: Json;
  readonly actions: readonly PauseAction[];
  readonly required_approvals: number;
  /** Who may answer; null: everybody who may resume runs. */
  readonly assignees: Assignees | null;
  readonly expires_at: string | null;
  readonly on_timeout: string;
  /** The runs that show the pause as theirs, since its run is one of their sub-flows': the parent first. */
  readonly shown_in?: readonly ShownPause[];
}

/** The position of a pause, as seen from an enclosing run. */
export interface ShownPause {
  readonly run_id: string;
  readonly path: string;
}

/** The resolution of a pause, as the waiting workflow receives it. */
export interface PauseResolution {
  readonly action: string;
  readonly data: Json;
  readonly comment: string | null;
  readonly by: string | null;
  readonly at: string;
}

/** One atomic write of a run's record. */
export interface RunUpdate {
  readonly org_id: string;
  readonly run_id: string;
  /** The workflow execution that writes; empty for a write from outside (sweeper, reconciler, a forced cancel). */
  readonly temporal_run_id: string;
  readonly started_at: string | null;
  /** The state to be in after this write; absent: RUNNING unless it is further already. */
  readonly state?: RunState;
  readonly state_reason?: string | null;
  readonly outputs?: Readonly<Record<string, StoredValue>>;
  readonly error?: RunError | null;
  readonly finished_at?: string;
  readonly progress: Progress;
  readonly nodes: readonly NodeRecord[];
  readonly pauses_opened?: readonly PauseOpening[];
  /** Pauses whose resolution the workflow has received. */
  readonly pauses_taken?: readonly string[];
  /** Values to resume from; written with a failure or a cancellation. */
  readonly checkpoint?: Readonly<Record<string, CheckpointNode>>;
}

/** A settled node of an earlier run that a resumed run reuses. */
export interface CheckpointNode {
  readonly value: StoredValue;
  readonly handles: readonly string[];
  readonly state: "COMPLETED" | "SKIPPED";
}

/** The run that a run resumes, and the nodes of the top level whose end it has not got to. */
export interface Resumed {
  readonly run_id: string;
  readonly nodes: readonly string[];
}

/** What the workflow of a run that goes on from its record knows of the earlier one. */
export interface Restart {
  /** When nodes began that had not ended (RFC 3339), by path: waits go on from there. */
  readonly began: Readonly<Record<string, string>>;
}

/** The input of a run's workflow; also kept in the run's row. */
export interface RunInput {
  readonly org_id: string;
  readonly run_id: string;
  readonly project_id: string;
  readonly flow_version: number;
  readonly user_id: string | null;
  readonly metadata: JsonObject;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly timeout_seconds: number;
  readonly limits: RunLimits;
  /** Nesting of sub-flows: 0 for a top-level run. */
  readonly depth: number;
  /** Nodes taken over from an earlier run. */
  readonly reuse?: Readonly<Record<string, CheckpointNode>>;
  /** Where models with tools go on with what they have been answered. */
  readonly resumes?: Resumed;
  /** Of a run that goes on from its record, because its earlier workflow is lost. */
  readonly restart?: Restart;
  readonly plan: Plan;
}

/** What the workflow of a run takes; the run of a sub-flow loads its own plan. */
export interface RunWorkflowInput extends Omit<RunInput, "plan"> {
  readonly plan?: Plan;
  /** The task queue of the activities of its nodes. */
  readonly node_queue: string;
  /**
   * RFC 3339; a workflow that begins later was started by a call that took its time, and its run may have been cancelled
   * in between. Not set for a sub-flow's run.
   */
  readonly start_by?: string;
  /** Nobody answers its pauses: instead of waiting for one, it is cancelled with the reason `run_paused`. */
  readonly unattended?: boolean;
  /** For a sub-flow's run: the run that waits for it. */
  readonly parent?: ParentRun;
}

/** What the run of a sub-flow knows of the runs around it. */
export interface ParentRun {
  /** The workflow that has started it: the parent run's own, or that of a slice. */
  readonly workflow_id: string;
  /** The parent, its parent, and so on, each with the path of the sub-flow's nodes in it: "flow-0/". */
  readonly runs: ReadonlyArray<{ readonly run_id: string; readonly prefix: string }>;
}

export interface RunLimits {
  readonly max_iterations: number;
}

/** How a run ended: the result of its workflow, from which its record can be completed if the final write was lost. */
export interface RunOutcome {
  readonly state: TerminalState;
  readonly reason: string | null;
  /** Stored by reference when too long together. */
  readonly outputs: Readonly<Record<string, StoredValue>>;
  readonly error: RunError | null;
  readonly progress: Progress;
}
