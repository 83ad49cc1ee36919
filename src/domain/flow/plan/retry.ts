import type { RetryPolicy } from "./types.ts";

/** The wait after so many failed attempts: exponential from the policy's first interval up to its longest, or longer where an upstream service asks for it (ms). */
export function waitBeforeRetry(retry: RetryPolicy, failedAttempts: number, retryAfterMs = 0): number {
  const { initial_interval_ms: first, backoff, max_interval_ms: longest } = retry;
  return Math.max(Math.min(longest, first * backoff ** (failedAttempts - 1)), retryAfterMs);
}
