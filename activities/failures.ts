import { ApplicationFailure } from "@temporalio/activity";
import { NodeFailure, shortMessage, statusIn } from "../src/domain/runs/failure.ts";
import { redactSecrets } from "../src/platform/logging/redaction.ts";

/**
 * Converts a node's own failure to the form that crosses process borders. Temporal must not retry it: the workflow
 * does, by the node's policy. Any other error of an activity is infrastructure, and Temporal retries it.
 */
export function toApplicationFailure(failure: NodeFailure, attempt?: number): ApplicationFailure {
  return ApplicationFailure.nonRetryable(redactSecrets(failure.message), failure.code, {
    retryable: failure.retryable,
    upstream: failure.upstream,
    ...statusIn(failure.upstream_status),
    ...("retry_after_ms" in failure ? { retry_after_ms: failure.retry_after_ms } : {}),
    ...(attempt === undefined ? {} : { attempt }),
  });
}

/** Runs `work`, and converts its errors to the form that Temporal carries. */
export async function asActivity<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NodeFailure) throw toApplicationFailure(error);
    if (error instanceof Error) makeShort(error);
    throw error;
  }
}

/** Shortens an error's texts and removes lone surrogates, which would crash the process; see NodeFailure. */
function makeShort(error: Error): void {
  error.message = shortMessage(error.message);
  if (error.stack !== undefined) error.stack = shortMessage(error.stack);
  if (error.cause instanceof Error) makeShort(error.cause);
}
