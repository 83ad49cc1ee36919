import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from "@temporalio/workflow";
import { NodeFailure, statusIn } from "../../src/domain/runs/failure.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { RunError } from "../../src/domain/runs/run.ts";

/** Thrown inside the interpreter when a node has failed for good; carries the error for the run's record. */
export class NodeFailed extends Error {
  readonly error: RunError;
  /** The path of the node whose activity has already recorded this failure. */
  readonly recordedAt: string | null;

  constructor(error: RunError, recordedAt: string | null = null) {
    super(error.message);
    this.name = "NodeFailed";
    this.error = error;
    this.recordedAt = recordedAt;
  }
}

/** The details that an activity attaches to a node's own failure. */
export interface FailureDetails {
  readonly retryable: boolean;
  readonly upstream: boolean;
  readonly retry_after_ms?: number;
  readonly upstream_status?: number;
  /** The failed attempt, if the activity has made several. */
  readonly attempt?: number;
  /** A failure inside a nested flow or a sub-flow keeps the node where it began. */
  readonly origin?: RunError;
}

/** Turns an error of a node's execution into a run error; null if it is not the node's failure. */
export function toRunError(
  error: unknown,
  node: { readonly node_id: string; readonly path: string },
  attempt: number,
): { error: RunError; retryAfterMs: number | undefined } | null {
  if (error instanceof NodeFailed) return { error: error.error, retryAfterMs: undefined };
  if (error instanceof NodeFailure) {
    return {
      error: {
        code: error.code,
        message: error.message,
        ...node,
        attempt,
        retryable: error.retryable,
        ...(error.upstream ? { upstream: true } : {}),
        ...statusIn(error.upstream_status),
      },
      retryAfterMs: undefined,
    };
  }
  const cause = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure ? error.cause : error;
  if (!(cause instanceof ApplicationFailure)) return null;
  const details = cause.details?.[0] as FailureDetails | undefined;
  if (details?.origin) return { error: details.origin, retryAfterMs: undefined };
  return {
    error: {
      code: cause.type ?? "node_failed",
      message: cause.message,
      ...node,
      attempt: details?.attempt ?? attempt,
      retryable: details?.retryable ?? false,
      ...(details?.upstream ? { upstream: true } : {}),
      ...statusIn(details?.upstream_status),
    },
    retryAfterMs: details?.retry_after_ms,
  };
}

/** An error as a value for the nodes after it. */
export function errorValue({ code, message, node_id, path, attempt, retryable }: RunError): JsonObject {
  return { code, message, node_id, path, attempt, retryable };
}
