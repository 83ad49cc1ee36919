export interface Counts<Key> {
  of(key: Key): number;
  add(key: Key, more: 1 | -1): void;
}

/** Counts that forget keys whose count is 0. */
export function createCounts<Key>(): Counts<Key> {
  const counts = new Map<Key, number>();
  const of = (key: Key): number => counts.get(key) ?? 0;
  return {
    of,
    add(key, more) {
      const count = of(key) + more;
      if (count > 0) counts.set(key, count);
      else counts.delete(key);
    },
  };
}
