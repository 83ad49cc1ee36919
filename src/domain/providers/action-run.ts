import { z } from "zod";
import type { Json } from "../json.ts";

export const ACTION_RUN_STATES = ["PENDING", "RUNNING", "COMPLETED", "FAILED"] as const;
export type ActionRunState = (typeof ACTION_RUN_STATES)[number];

/** Why an action failed. */
export const actionErrorSchema = z.object({
  code: z
    .string()
    .describe(
      "`outcome_unknown`: the action was called, but its outcome is unknown. It is never called a second time.",
    ),
  message: z.string(),
  upstream_status: z.int().nullable(),
  retryable: z.boolean(),
});
export type ActionError = Readonly<z.output<typeof actionErrorSchema>>;

/** Longest time limit of an action (s). */
export const MAX_ACTION_SECONDS = 3600;

export interface ActionAnswer {
  readonly outputs: Json;
  /** The request that was sent, or in a dry run would be, without secrets. */
  readonly rendered_request: Json;
}

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
