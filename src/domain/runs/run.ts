import type { BlobRef, Json, JsonObject, StoredValue } from "../json.ts";
import type { NodeKind } from "../flow/kinds.ts";
import type { Plan } from "../flow/plan/types.ts";
import type { Assignees } from "./assignees.ts";

/** The possible transitions of a run's state. */
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
 * Transitions that one write may combine, because nothing was persisted in between: a flow of inline nodes starts and completes in one
 * write, and a pause answered while another branch runs turns RUNNING into RESUMED.
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

export const RUN_TYPES = ["api", "batch", "trigger", "scheduled", "sub_workflow", "draft"] as const;
export type RunType = (typeof RUN_TYPES)[number];
export const RAN_BY_TYPES = ["org_api_key", "user", "system", "page"] as const;
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
  /** Path of the node, such as "map-0[2]/guard-0"; null if no node caused the error. */
  readonly path: string | null;
  readonly attempt: number;
  readonly retryable: boolean;
  /** Whether an upstream service caused the error, so that a synchronous caller receives 502. */
  readonly upstream?: boolean;
  /** The HTTP status of the upstream service's response, on which the hint depends. */
  readonly upstream_status?: number;
}

/** The record of one node of a run. A later record of the same path replaces the earlier one. */
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
  /** The chunks that the value cites. */
  readonly citations?: readonly Json[];
  readonly error?: RunError | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** When the next attempt of a failed node begins (RFC 3339). */
  readonly next_attempt_at?: string;
  /** Whether the result was reused from the run that this one resumes. */
  readonly reused?: boolean;
}

/** The values that a node's record shows only in part, and where they are stored completely: masked as in the record. */
export type LongValues = Partial<Readonly<Record<NodeValue, BlobRef>>>;

export const NODE_VALUES = ["inputs", "output"] as const;
export type NodeValue = (typeof NODE_VALUES)[number];

/** Counts of top-level nodes. */
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
  /** Who may answer; null means everyone who may resume runs. */
  readonly assignees: Assignees | null;
  readonly expires_at: string | null;
  readonly on_timeout: string;
  /** The outer runs that also show the pause, because the pause is in a child run of theirs; the parent first. */
  readonly shown_in?: readonly ShownPause[];
}

/** A pause's path in an outer run. */
export interface ShownPause {
  readonly run_id: string;
  readonly path: string;
}

/** The answer to a pause, or its default, as the waiting workflow receives it. */
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
  /** The workflow execution that writes; empty for a write from outside (the sweeper, a forced cancellation). */
  readonly temporal_run_id: string;
  readonly started_at: string | null;
  /** The state after this write; if absent, RUNNING, unless the run has already progressed further. */
  readonly state?: RunState;
  readonly state_reason?: string | null;
  readonly outputs?: Readonly<Record<string, StoredValue>>;
  readonly error?: RunError | null;
  readonly finished_at?: string;
  readonly progress: Progress;
  readonly nodes: readonly NodeRecord[];
  readonly pauses_opened?: readonly PauseOpening[];
  /** Pauses whose resolution has reached the workflow. */
  readonly pauses_taken?: readonly string[];
  /** The nodes that a later run can reuse; written when the run fails or is cancelled. */
  readonly checkpoint?: Readonly<Record<string, CheckpointNode>>;
}

/** A settled node of an earlier run that a resumed run can reuse. */
export interface CheckpointNode {
  readonly value: StoredValue;
  readonly handles: readonly string[];
  readonly state: "COMPLETED" | "SKIPPED";
}

/** The run that this one resumes, and the top-level nodes that it did not finish. */
export interface Resumed {
  readonly run_id: string;
  readonly nodes: readonly string[];
}

/** State that a replacement workflow takes over from the lost one. */
export interface Restart {
  /** When unfinished nodes began (RFC 3339), by path, so that waits continue from there. */
  readonly began: Readonly<Record<string, string>>;
}

/** The input of a run's workflow; also kept in the run's row. */
export interface RunInput {
  readonly org_id: string;
  readonly run_id: string;
  readonly project_id: string;
  readonly flow_version: number;
  /** The promotion whose connections replace those of the flow. */
  readonly bindings_id?: string;
  readonly user_id: string | null;
  readonly metadata: JsonObject;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly timeout_seconds: number;
  readonly limits: RunLimits;
  /** Nesting of child runs: 0 for a top-level run. */
  readonly depth: number;
  /** Nodes reused from an earlier run. */
  readonly reuse?: Readonly<Record<string, CheckpointNode>>;
  /** The earlier run whose model answers and tool results are reused. */
  readonly resumes?: Resumed;
  /** Set if this workflow continues a run whose earlier workflow is lost. */
  readonly restart?: Restart;
  readonly plan: Plan;
}

/** The input of a run's workflow. A child run loads its own plan. */
export interface RunWorkflowInput extends Omit<RunInput, "plan"> {
  readonly plan?: Plan;
  /** The task queue of the activities of its nodes. */
  readonly node_queue: string;
  /**
   * RFC 3339. A workflow that starts later than this was started by a delayed request, so its run may already have been cancelled. Not set
   * for a child run.
   */
  readonly start_by?: string;
  /** Set if no one will answer the run's pauses: instead of pausing, the run is cancelled with the reason `run_paused`. */
  readonly unattended?: boolean;
  /** For a child run: the run that waits for it. */
  readonly parent?: ParentRun;
}

/** What a child run knows of its outer runs. */
export interface ParentRun {
  /** The workflow that started it: that of the parent run, or of one of its slices. */
  readonly workflow_id: string;
  /** The parent, its parent, and so on, each with the path prefix of the child run's nodes in it: "flow-0/". */
  readonly runs: ReadonlyArray<{ readonly run_id: string; readonly prefix: string }>;
}

export interface RunLimits {
  readonly max_iterations: number;
}

/** How a run ended: the result of its workflow, from which the sweeper can complete the record if the final write was lost. */
export interface RunOutcome {
  readonly state: TerminalState;
  readonly reason: string | null;
  /** Stored by reference if the outputs are too long together. */
  readonly outputs: Readonly<Record<string, StoredValue>>;
  readonly error: RunError | null;
  readonly progress: Progress;
}
