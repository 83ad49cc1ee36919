import type { Json } from "../json.ts";

export const ACTION_RUN_STATES = ["PENDING", "RUNNING", "COMPLETED", "FAILED"] as const;
export type ActionRunState = (typeof ACTION_RUN_STATES)[number];

/** Why an action failed. */
export interface ActionError {
  /** Stable snake_case word. `outcome_unknown`: the call was made, and its outcome is unknown. */
  readonly code: string;
  readonly message: string;
  /** The HTTP status of the service's answer. */
  readonly upstream_status: number | null;
  readonly retryable: boolean;
}

/** Longest time that an action may be given (s). */
export const MAX_ACTION_SECONDS = 3600;

/** The result of an action. */
export interface ActionAnswer {
  readonly outputs: Json;
  /** The request that was sent, or would be: without secrets. */
  readonly rendered_request: Json;
}

/** A request to carry out an action. */
export interface ActionToExecute {
  readonly org_id: string;
  readonly provider_id: string;
  readonly action_id: string;
  readonly connection_id: string | null;
  readonly inputs: Json;
  readonly dry_run?: boolean;
  /** The inputs are rendered templates: a text where the schema wants none is read as JSON. */
  readonly rendered?: boolean;
  /** A UUID and more: the same whenever the same call is tried. */
  readonly idempotency_key: string;
  readonly signal: AbortSignal;
}

/**
 * Carries out actions: of nodes, of models, and of action runs. Throws NodeFailure; `retryable` only if trying again
 * can do no harm. An action that must not be done twice is recorded before it is called. If it is found recorded, or
 * was interrupted in between, it fails with `outcome_unknown`. No secret of the connection leaves this.
 */
export type ExecuteAction = (wanted: ActionToExecute) => Promise<ActionAnswer>;
