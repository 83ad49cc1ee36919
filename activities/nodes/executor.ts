import type { Json, StoredValue } from "../../src/domain/json.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";

/** The input of a node's executor, with all references resolved. */
export interface NodeExecution<Config> {
  readonly org_id: string;
  readonly project_id: string;
  /** The flow version, whose rights apply. */
  readonly flow_version: number;
  readonly run_id: string;
  /** The node's path in the run, e.g. "map-0[3]/http-0". */
  readonly path: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Whether a worker that died started this attempt before. */
  readonly repeated?: boolean;
  /** Whether its text may be shown while it is being written. */
  readonly may_show?: boolean;
  /** Whether the flow masks values in the run's record. */
  readonly masked?: boolean;
  /** IDs of the `knowledge` nodes whose values this node can read. */
  readonly knowledge?: readonly string[];
  readonly config: Config;
  readonly scope: Scope;
  /** The same for all retries and restarts of this node of this run. */
  readonly idempotency_key: string;
  /** Fires on cancellation and on the node's timeout; the executor then stops and rejects. */
  readonly signal: AbortSignal;
}

/** The result of an executor. `inputs` is its rendered input, for people to read: no secrets in it. */
export interface NodeOutcome {
  readonly output: Json;
  /** The value for the workflow, if it differs from `output`. */
  readonly carried?: StoredValue;
  readonly inputs?: Json;
  /** Whether it was reused from the run that this one resumes. */
  readonly reused?: boolean;
  /** The passages that the output is based on, which the run lists. */
  readonly citations?: readonly Json[];
  /** The console output of user code, shortened. */
  readonly logs?: readonly string[];
}

export type NodeExecutor<Config> = (execution: NodeExecution<Config>) => Promise<NodeOutcome>;
