import { setTimeout as delay } from "node:timers/promises";

export interface ShareOptions {
  /** The most writes in one batch. */
  readonly maxTogether?: number;
  /** How long the first write of a key waits for others (ms). Default: no wait. */
  readonly gatherMs?: number;
}

/** A queued write. */
interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Batches writes of one key: writes that arrive while one is in flight form the next batch. They would wait for the
 * same row lock anyway, and one statement for twenty costs little more than for one. If a batch fails with an error
 * that `isPassing` does not accept as transient, each write is repeated alone, so that none fails because of another.
 */
export function shareWrites<Item, Result>(
  write: (items: readonly Item[]) => Promise<Result>,
  isPassing: (error: unknown) => boolean,
  { maxTogether = Number.MAX_SAFE_INTEGER, gatherMs }: ShareOptions = {},
): (key: string, item: Item) => Promise<Result> {
  const lines = new Map<string, Array<Waiting<Item, Result>>>();

  async function serve(group: ReadonlyArray<Waiting<Item, Result>>): Promise<void> {
    try {
      const result = await write(group.map(({ item }) => item));
      for (const each of group) each.resolve(result);
    } catch (error) {
      if (group.length > 1 && !isPassing(error)) for (const each of group) await serve([each]);
      else for (const each of group) each.reject(error);
    }
  }

  async function serveLine(key: string, line: Array<Waiting<Item, Result>>): Promise<void> {
    if (gatherMs !== undefined) await delay(gatherMs);
    while (line.length > 0) await serve(line.splice(0, maxTogether));
    lines.delete(key);
  }

  return (key, item) =>
    new Promise<Result>((resolve, reject) => {
      const waiting = { item, resolve, reject };
      const line = lines.get(key);
      if (line) {
        line.push(waiting);
        return;
      }
      const started = [waiting];
      lines.set(key, started);
      void serveLine(key, started);
    });
}
