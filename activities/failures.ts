import { ApplicationFailure } from "@temporalio/activity";
import { NodeFailure } from "../src/domain/runs/failure.ts";
import { redactSecrets } from "../src/platform/logging/redaction.ts";

/**
 * A node's own failure in the form that crosses process borders. Temporal must not retry it: the workflow does, by the
 * node's policy. Everything else an activity throws is infrastructure and is retried by Temporal.
 */
export function toApplicationFailure(failure: NodeFailure, attempt?: number): ApplicationFailure {
  return ApplicationFailure.nonRetryable(redactSecrets(failure.message), failure.code, {
    retryable: failure.retryable,
    upstream: failure.upstream,
    ...("retry_after_ms" in failure ? { retry_after_ms: failure.retry_after_ms } : {}),
    ...(attempt === undefined ? {} : { attempt }),
  });
}

/** Runs `work`; what it throws leaves in the form Temporal carries. */
export async function asActivity<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NodeFailure) throw toApplicationFailure(error);
    if (error instanceof Error) makeWellFormed(error);
    throw error;
  }
}

/** Half a character in what an error says would end the process; see NodeFailure. */
function makeWellFormed(error: Error): void {
  error.message = error.message.toWellFormed();
  if (error.stack !== undefined) error.stack = error.stack.toWellFormed();
  if (error.cause instanceof Error) makeWellFormed(error.cause);
}
