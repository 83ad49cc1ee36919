import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from "@temporalio/workflow";
import { NodeFailure, statusIn } from "../../src/domain/runs/failure.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { RunError } from "../../src/domain/runs/run.ts";
import type { FailureDetails } from "../../src/domain/runs/run-report.ts";

/** Thrown in the interpreter when a node has failed and will not be retried; carries the error for the run's record. */
export class NodeFailed extends Error {
  readonly error: RunError;
  /** Path of the node whose activity has already recorded this failure; null if none has. */
  readonly recordedAt: string | null;

  constructor(error: RunError, recordedAt: string | null = null) {
    super(error.message);
    this.name = "NodeFailed";
    this.error = error;
    this.recordedAt = recordedAt;
  }
}

/** Converts an error of a node's execution to a run error; null if the node itself did not fail. */
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

/** An error as the value that nodes after it can read. */
export function errorValue({ code, message, node_id, path, attempt, retryable }: RunError): JsonObject {
  return { code, message, node_id, path, attempt, retryable };
}
