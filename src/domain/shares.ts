/** A number of slots, shared fairly among organisations. */
export interface Shares {
  /** Takes a slot, which is held until the returned function is called (later calls do nothing); null if the key has used its share. */
  take(key: string, asked?: Asked): (() => void) | null;
  /** How many slots `take` would currently give this key. */
  free(key: string, asked?: Asked): number;
  /** Slots in use, by one key or in total. */
  inUse(key?: string): number;
}

/** What a slot is taken for. */
export interface Asked {
  /** Whether the slot may be held for long. Such work cannot take the last slots. */
  readonly long?: boolean;
  /** How many slots of its share the key keeps free for more urgent work. */
  readonly leave?: number;
}

/** One slot in this many, but at least one, is reserved for short work. */
const LAST_PLACES = 8;

/**
 * Gives a key another slot while it holds fewer than are free (Choudhury and Hahne's dynamic threshold). A single key gets half of the
 * slots. With K busy keys, each gets at least one part in K + 1, and the same amount stays free for the next key, which therefore never has
 * to wait for another's work. If there are more keys than slots, the last slots are only for short work, so that a new key waits for no
 * longer than that.
 */
export function createShares(size: number): Shares {
  const places = new Map<string, number>();
  const last = size < 2 ? 0 : Math.max(1, Math.floor(size / LAST_PLACES));
  let all = 0;
  const inUse = (key: string): number => places.get(key) ?? 0;
  /** Slots that could be given to a key that holds none. */
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

/** Orders items round-robin by key. Items with the same key keep their order. */
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
