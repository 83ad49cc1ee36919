import type { PlanNode } from "./types.ts";

/** Longest time of one attempt if neither node nor kind sets one (ms). */
export const DEFAULT_NODE_TIMEOUT_MS = 60_000;

/**
 * Time a worker has to report a node's time-out after it (ms). It is long because the worker may have to wait for the
 * database to write it down; missing heartbeats show that a worker is gone.
 */
export const NODE_GRACE_MS = 900_000;

/**
 * How long to wait before the next attempt of a node (ms): exponential from the policy's first interval up to its
 * longest. A longer wait that an upstream service asks for counts, but at most as long as an attempt itself may take.
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
