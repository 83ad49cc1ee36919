import type { Json } from "../json.ts";

export const ACTION_RUN_STATES = ["PENDING", "RUNNING", "COMPLETED", "FAILED"] as const;
export type ActionRunState = (typeof ACTION_RUN_STATES)[number];

/** Why an action failed. */
export interface ActionError {
  /** Stable snake_case word. `outcome_unknown`: the call was made, and its outcome is unknown. */
  readonly code: string;
  readonly message: string;
  /** The status that the service answered. */
  readonly upstream_status: number | null;
  readonly retryable: boolean;
}

/** Longest time that an action may be given (s). */
export const MAX_ACTION_SECONDS = 3600;

/** The result of an action. */
export interface ActionAnswer {
  readonly outputs: Json;
  /** What was sent, or would be: without secrets. */
  readonly rendered_request: Json;
}

/** An action that somebody wants to be carried out. */
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
 * Carries out actions: of nodes, of models, and of action runs. Throws NodeFailure; `retryable` only where trying again can
 * do no harm. An action that must not be done twice is noted before it is called: found noted, or broken off in between, it
 * fails with `outcome_unknown`. Nothing that leaves this has a secret of the connection.
 */
export type ExecuteAction = (wanted: ActionToExecute) => Promise<ActionAnswer>;
