import { isConnectionError } from "./db.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 1000;

/** How long a database that is away is waited for, and how. */
export interface Patience {
  readonly maxMs: number;
  /** Waits between two tries; rejects to end them. */
  readonly sleep: (ms: number) => Promise<unknown>;
}

/**
 * Repeats `work` while the database is away, for what must not be done again from its beginning: a request that has been
 * sent, a node that has been executed. Throws every other error at once, and that one when `maxMs` have passed.
 */
export async function whileDatabaseIsAway<T>(work: () => Promise<T>, { maxMs, sleep }: Patience): Promise<T> {
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
