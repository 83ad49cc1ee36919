import type { Json, StoredValue } from "../json.ts";
import type { AgentPart } from "../models/agent.ts";
import type {
  CheckpointNode,
  NodeRecord,
  PauseOpening,
  PauseResolution,
  Progress,
  RunError,
  RunInput,
  RunOutcome,
  RunState,
} from "./run.ts";

/** A workflow's report of a node. The activity that persists it redacts values and shortens them for display. */
export interface NodeReport extends Omit<NodeRecord, "output" | "truncated" | "long_values" | "error"> {
  readonly value?: StoredValue;
  readonly error?: RunError;
  /** When the attempt ended, if the node is tried again (RFC 3339). */
  readonly failed_at?: string;
  /** Whether an earlier report contained the node's start. */
  readonly announced?: boolean;
}

/** Identifies a run and its flow version: enough to load the plan instead of carrying it along. */
export interface RunIdentity {
  readonly org_id: string;
  readonly run_id: string;
  readonly project_id: string;
  readonly flow_version: number;
  readonly temporal_run_id: string;
  readonly started_at: string;
  /** Whether an earlier workflow of the run, which is lost, may have executed its nodes. */
  readonly restarted?: true;
}

/** The reports of one workflow task; persisted in one transaction. */
export interface RunReport {
  readonly run: RunIdentity;
  readonly progress: Progress;
  readonly nodes: readonly NodeReport[];
  readonly state?: RunState;
  readonly state_reason?: string | null;
  readonly outputs?: Readonly<Record<string, StoredValue>>;
  readonly error?: RunError | null;
  readonly pauses_opened?: readonly PauseOpening[];
  readonly pauses_taken?: readonly string[];
  readonly checkpoint?: Readonly<Record<string, CheckpointNode>>;
}

/** What a node's expressions see, by value or by reference. */
export interface StoredScope {
  readonly nodes: Readonly<Record<string, StoredValue>>;
  readonly inputs: Readonly<Record<string, StoredValue>>;
  readonly user_id: string | null;
  readonly metadata: Json;
  readonly item?: StoredValue;
  readonly index?: number;
  readonly last?: StoredValue;
}

/** Which part of a node's configuration is to be evaluated. */
export type NodePart = "skip_if" | "node" | "items" | "initial" | "while" | "inputs" | "until" | "approval";

export interface NodeAddress {
  /** Ids from the top of the plan down to the node, joined with "/": "map-0/http-0". */
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
  /** Reports of nodes that settled since the last write; persisted together with this node's own. */
  readonly flush: readonly NodeReport[];
  /** For a node that calls tools: its next task. `path` is that of this part. */
  readonly part?: AgentPart;
}

export interface LoadDocumentsResult {
  /** How many documents are still being read; the value is there only when none is. */
  readonly pending: number;
  readonly value?: StoredValue;
}

export interface SplitItemsResult {
  /** Length of the whole list. */
  readonly count: number;
  /** The asked-for items; long ones by reference. */
  readonly items: readonly StoredValue[];
}

export interface StoreOutputsInput {
  readonly org_id: string;
  readonly outputs: Readonly<Record<string, StoredValue>>;
}

export interface AssembleInput {
  readonly org_id: string;
  /** "array": one list of the parts. "concat": the parts are lists themselves. "object": a member a part. */
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
  /** Reports since the last write, of the node's own start too: written before the child is there. */
  readonly flush: readonly NodeReport[];
  readonly inputs: StoredValue;
  /** The flow, if it is a tool of the node; otherwise the node itself names it. */
  readonly called?: { readonly project_id: string; readonly version: number };
  /** The run that this one resumes. */
  readonly earlier_run?: string;
  readonly user_id: string | null;
  readonly metadata: Json;
  readonly depth: number;
}

/** The input of the workflow of a sub-flow's run. */
export interface ChildRunStart extends Omit<RunInput, "plan"> {
  /** How the run ended before the workflow of its parent was lost. It is not executed again. */
  readonly ended?: Pick<RunOutcome, "state" | "outputs" | "error">;
}

export interface ExpirePauseInput {
  readonly run: RunIdentity;
  readonly progress: Progress;
  readonly pause_id: string;
  readonly resolution: PauseResolution | null;
}

export interface ExpirePauseResult {
  /** False when an answer came first; it is in `resolution` then. */
  readonly expired: boolean;
  readonly resolution: PauseResolution | null;
}
