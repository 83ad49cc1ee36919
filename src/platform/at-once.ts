/** Runs work, or queues it. */
export type Limit = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs at most `most` tasks at once. The rest is queued, first in first out. */
export function createLimit(most: number): Limit {
  const waiting: Array<() => void> = [];
  let free = most;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/**
 * Does something with each item, `most` at once; results in the order of the items. After a failure no other starts, and it is
 * thrown once those under way have ended.
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
