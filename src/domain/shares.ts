/** A number of slots, shared fairly among organisations. */
export interface Shares {
  /**
   * A place, held until the returned function is called (calls after the first do nothing); null while the key has
   * its share.
   */
  take(key: string, asked?: Asked): (() => void) | null;
  /** How many places `take` would give this key now. */
  free(key: string, asked?: Asked): number;
  /** Places in use: of a key, or in all. */
  inUse(key?: string): number;
}

/** What a place is taken for. */
export interface Asked {
  /** It may be held for long. Such work may not take the last places. */
  readonly long?: boolean;
  /** Places of its share that the key keeps free for more urgent work. */
  readonly leave?: number;
}

/** One place in so many is kept from long work, and at least one. */
const LAST_PLACES = 8;

/**
 * Gives a key another place as long as it has fewer than are free (Choudhury and Hahne's dynamic threshold). Alone it gets half
 * of them. With K busy keys each has at least one in K + 1, and as much is free for who comes next: nobody has to wait until
 * another's work ends. Where there are more keys than places, the last ones go only to short work, so that whoever comes
 * waits for that and no longer.
 */
export function createShares(size: number): Shares {
  const places = new Map<string, number>();
  const last = size < 2 ? 0 : Math.max(1, Math.floor(size / LAST_PLACES));
  let all = 0;
  const inUse = (key: string): number => places.get(key) ?? 0;
  /** Places that could be given if the key had none. */
  const open = ({ long = false, leave = 0 }: Asked): number => size - all - leave - (long ? last : 0);
  const free = (key: string, asked: Asked = {}): number =>
    Math.max(0, Math.min(open(asked), Math.ceil((size - all - inUse(key)) / 2) - (asked.leave ?? 0)));
  return {
    free,
    take(key, asked) {
      if (free(key, asked) === 0) return null;
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
