import type { Json } from "../json.ts";

export const ACTION_RUN_STATES = ["PENDING", "RUNNING", "COMPLETED", "FAILED"] as const;
export type ActionRunState = (typeof ACTION_RUN_STATES)[number];

/** Why an action failed. */
export interface ActionError {
  /** Stable snake_case word. `outcome_unknown`: the call was made, but its outcome is unknown. */
  readonly code: string;
  readonly message: string;
  /** The HTTP status of the service's response. */
  readonly upstream_status: number | null;
  readonly retryable: boolean;
}

/** Longest time limit of an action (s). */
export const MAX_ACTION_SECONDS = 3600;

/** The result of an action. */
export interface ActionAnswer {
  readonly outputs: Json;
  /** The request that was sent, or in a dry run would be, without secrets. */
  readonly rendered_request: Json;
}

/** A request to execute an action. */
export interface ActionToExecute {
  readonly org_id: string;
  readonly provider_id: string;
  readonly action_id: string;
  readonly connection_id: string | null;
  readonly inputs: Json;
  /** The flow version that makes the call, whose rights apply; absent for a caller of the API. */
  readonly version?: { readonly project_id: string; readonly flow_version: number };
  readonly dry_run?: boolean;
  /** Whether the inputs are rendered templates: then a string is read as JSON wherever the schema does not allow one. */
  readonly rendered?: boolean;
  /** A UUID and a suffix; the same for every attempt of the same call. */
  readonly idempotency_key: string;
  readonly signal: AbortSignal;
}

/**
 * Executes actions for nodes, models and action runs. Throws NodeFailure, which is `retryable` only if a retry can do no harm. An action
 * that must not run twice is recorded before the call; if it is found recorded, or was interrupted during the call, it fails with
 * `outcome_unknown`. The result and the error never contain secrets of the connection.
 */
export type ExecuteAction = (wanted: ActionToExecute) => Promise<ActionAnswer>;
