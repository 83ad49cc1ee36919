import type { Frame } from "./frames.ts";
import type { ChildEnd } from "./spawn.ts";

/**
 * Why a call failed, in addition to the ways in which a child can exit. `queue_full` also covers calls that waited too long for a child.
 */
export type PoolFailure = ChildEnd | "timeout" | "queue_full" | "start_failed" | "closed";

/** Thrown when a call got no result. */
export class ChildPoolError extends Error {
  readonly failure: PoolFailure;

  constructor(failure: PoolFailure, message: string) {
    super(message);
    this.name = "ChildPoolError";
    this.failure = failure;
  }
}

/** Whether the call was not started because too many are waiting; it can be repeated later. */
export function isBusy(error: unknown): boolean {
  return error instanceof ChildPoolError && error.failure === "queue_full";
}

/** A call without effects whose child was killed from outside (by the kernel or an operator) is retried once. */
export async function withRetry(call: () => Promise<Frame>, retries = 1): Promise<Frame> {
  try {
    return await call();
  } catch (error) {
    const killed = error instanceof ChildPoolError && error.failure === "crashed";
    if (!killed || retries === 0) throw error;
    return await withRetry(call, retries - 1);
  }
}
