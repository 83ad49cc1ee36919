import { ActivityFailure, ApplicationFailure, ChildWorkflowFailure } from "@temporalio/workflow";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { RunError } from "../../src/domain/runs/run.ts";

/** Thrown inside the interpreter when a node has failed for good; carries what the run's record will say. */
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

/** What an activity attaches to a node's own failure. */
export interface FailureDetails {
  readonly retryable: boolean;
  readonly upstream: boolean;
  readonly retry_after_ms?: number;
  /** A failure inside a nested flow or a sub-flow keeps the node it came from. */
  readonly origin?: RunError;
}

/** Turns whatever a node's execution threw into a run error; null for anything that is not a failure of the node. */
export function toRunError(
  error: unknown,
  nodeId: string,
  attempt: number,
): { error: RunError; retryAfterMs: number | undefined } | null {
  if (error instanceof NodeFailed) return { error: error.error, retryAfterMs: undefined };
  if (error instanceof NodeFailure) {
    return {
      error: {
        code: error.code,
        message: error.message,
        node_id: nodeId,
        attempt,
        retryable: error.retryable,
        ...(error.upstream ? { upstream: true } : {}),
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
      node_id: nodeId,
      attempt,
      retryable: details?.retryable ?? false,
      ...(details?.upstream ? { upstream: true } : {}),
    },
    retryAfterMs: details?.retry_after_ms,
  };
}
