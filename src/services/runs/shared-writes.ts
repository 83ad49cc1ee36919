/** A write that is waiting for its turn. */
interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes writes of one key take turns: while one is under way, those that come wait and then go together. They would wait
 * for the same row lock one by one all the same, and one statement for twenty costs little more than one for one. Where
 * going together fails for another reason than `isPassing`, each goes by itself, so that nobody fails for somebody else's.
 */
export function shareWrites<Item, Result>(
  write: (items: readonly Item[]) => Promise<Result>,
  isPassing: (error: unknown) => boolean,
  maxTogether = Number.MAX_SAFE_INTEGER,
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
