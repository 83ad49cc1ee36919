/** Runs tasks or queues them: first in, first out within a key, and keys in turn. Rejects with WaitedTooLong. */
export type Limit = <T>(work: () => Promise<T>, key?: string) => Promise<T>;

/** Thrown when work waited longer than its limit allows. It has not run. */
export class WaitedTooLong extends Error {
  constructor(ms: number) {
    super(`waited ${ms} ms`);
    this.name = "WaitedTooLong";
  }
}

/** Runs at most `most` tasks at the same time and queues the others, each for at most `maxWaitMs` (default: without limit). */
export function createLimit(most: number, maxWaitMs = Number.POSITIVE_INFINITY): Limit {
  /** The waiting tasks by key. The first key is served next, and then moves to the end. */
  const queues = new Map<string, Set<() => void>>();
  let free = most;

  function startNext(): void {
    const [first] = queues;
    if (!first) {
      free += 1;
      return;
    }
    const [key, queue] = first;
    queues.delete(key);
    const [start] = queue;
    if (!start) return startNext();
    queue.delete(start);
    if (queue.size > 0) queues.set(key, queue);
    start();
  }

  function wait(key: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const queue = queues.get(key) ?? new Set();
      queues.set(key, queue);
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        queue.delete(start);
        reject(new WaitedTooLong(maxWaitMs));
      };
      const timer = Number.isFinite(maxWaitMs) ? setTimeout(giveUp, maxWaitMs) : undefined;
      queue.add(start);
    });
  }

  return async (work, key = "") => {
    if (free > 0) free -= 1;
    else await wait(key);
    try {
      return await work();
    } finally {
      startNext();
    }
  };
}

/**
 * Runs a function for each item, at most `most` at the same time; results are in the order of the items. After a failure no other item is
 * started, and the error is thrown once the running ones have finished.
 */
export async function eachAtOnce<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const limit = createLimit(most);
  const over = new AbortController();
  const ends = items.map((item) =>
    limit(async () => {
      over.signal.throwIfAborted();
      return await work(item).catch((error: unknown) => {
        over.abort(error);
        throw error;
      });
    }),
  );
  await Promise.allSettled(ends);
  over.signal.throwIfAborted();
  return await Promise.all(ends);
}
