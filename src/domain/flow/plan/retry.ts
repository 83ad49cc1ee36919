import type { PlanNode } from "./types.ts";

/** Time limit of one attempt if neither the node nor its type sets one (ms). */
export const DEFAULT_NODE_TIMEOUT_MS = 60_000;

/**
 * How long a worker may take to report a node's time-out (ms). It is long, because the worker may have to wait for the database; missing
 * heartbeats reveal a dead worker earlier.
 */
export const NODE_GRACE_MS = 900_000;

/**
 * The wait before a node's next attempt (ms): exponential, from the policy's first interval to its longest. A longer Retry-After of an
 * upstream service takes precedence, up to the time limit of an attempt.
 */
export function retryDelayMs(
  { retry, timeout_ms = DEFAULT_NODE_TIMEOUT_MS }: Pick<PlanNode, "retry" | "timeout_ms">,
  failedAttempts: number,
  retryAfterMs = 0,
): number {
  const { initial_interval_ms, backoff, max_interval_ms } = retry;
  const wait = Math.min(max_interval_ms, initial_interval_ms * backoff ** (failedAttempts - 1));
  return Math.max(wait, Math.min(retryAfterMs, timeout_ms));
}
