import { isConnectionError } from "./db.ts";

const FIRST_WAIT_MS = 100;

/** How long, and how, to wait for an unreachable database. */
export interface OutageRetry {
  readonly maxMs: number;
  /** Waits before the next attempt; rejects to stop retrying. */
  readonly sleep: (ms: number) => Promise<unknown>;
  /** The longest wait between two attempts (ms). */
  readonly maxWaitMs?: number;
  /** How many failures other than connection errors it also retries. Default: none. */
  readonly maxFaults?: number;
  readonly onError?: (error: unknown) => void;
}

/**
 * Retries `work` while the database is unreachable. For work after steps that must not be repeated: a sent request, an executed node.
 * Throws an error of another kind after `maxFaults` of them, and a connection error after `maxMs`.
 */
export async function whileDatabaseIsAway<T>(
  work: () => Promise<T>,
  { maxMs, sleep, maxWaitMs = 1000, maxFaults = 0, onError }: OutageRetry,
): Promise<T> {
  const until = Date.now() + maxMs;
  let faults = 0;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, maxWaitMs)) {
    try {
      return await work();
    } catch (error) {
      onError?.(error);
      const isOver = isConnectionError(error) ? Date.now() > until : (faults += 1) > maxFaults;
      if (isOver) throw error;
    }
    await sleep(wait);
  }
}
