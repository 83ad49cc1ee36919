import type { PlanNode } from "./types.ts";

/** Longest time of one attempt where neither node nor kind says (ms). */
export const DEFAULT_NODE_TIMEOUT_MS = 60_000;

/**
 * Time a worker has, after a node's own time-out, to say so (ms). Long, for it may have to wait until the database is there to
 * write it down; a worker that is gone is noticed by its heartbeats.
 */
export const NODE_GRACE_MS = 900_000;

/**
 * How long the next attempt of a node is put off (ms): exponentially from the policy's first interval up to its longest. What
 * an upstream service asks for counts where it is longer, but no longer than an attempt itself may take.
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
