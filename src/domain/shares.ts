/** A number of slots, shared fairly among organisations. */
export interface Shares {
  /** A place, until the answered function is called (once, however often); null while the key has its share. */
  take(key: string): (() => void) | null;
  /** How many places `take` would give this key now. */
  free(key: string): number;
  /** Places in use: of a key, or in all. */
  inUse(key?: string): number;
}

/**
 * Gives a key another place as long as it has fewer than are free (Choudhury and Hahne's dynamic threshold). Alone it gets half
 * of them. With K busy keys each has at least one in K + 1, and as much is free for who comes next: nobody has to wait until
 * another's work ends.
 */
export function createShares(size: number): Shares {
  const places = new Map<string, number>();
  let all = 0;
  const inUse = (key: string): number => places.get(key) ?? 0;
  return {
    take(key) {
      if (inUse(key) >= size - all) return null;
      places.set(key, inUse(key) + 1);
      all += 1;
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        all -= 1;
        const others = inUse(key) - 1;
        if (others === 0) places.delete(key);
        else places.set(key, others);
      };
    },
    free: (key) => Math.max(0, Math.ceil((size - all - inUse(key)) / 2)),
    inUse: (key) => (key === undefined ? all : inUse(key)),
  };
}

/** Orders items round robin by key. Items of one key keep their order. */
export function roundRobin<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const lines = new Map<string, T[]>();
  for (const item of items) {
    const line = lines.get(keyOf(item));
    if (line) line.push(item);
    else lines.set(keyOf(item), [item]);
  }
  const ordered: T[] = [];
  for (let round = 0; ordered.length < items.length; round += 1) {
    for (const line of lines.values()) if (round < line.length) ordered.push(line[round] as T);
  }
  return ordered;
}
