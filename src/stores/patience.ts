import { isConnectionError } from "./db.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 1000;

/** How long, and how, to wait for an unreachable database. */
export interface OutageRetry {
  readonly maxMs: number;
  /** Waits between two attempts; rejects to stop retrying. */
  readonly sleep: (ms: number) => Promise<unknown>;
}

/**
 * Retries `work` while the database is unreachable, after steps that must not be repeated: a request that has been
 * sent, a node that has been executed. Throws any other error at once, and a connection error after `maxMs`.
 */
export async function whileDatabaseIsAway<T>(work: () => Promise<T>, { maxMs, sleep }: OutageRetry): Promise<T> {
  const until = Date.now() + maxMs;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isConnectionError(error) || Date.now() > until) throw error;
    }
    await sleep(wait);
  }
}
