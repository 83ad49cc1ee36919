/** Keeps the best of many scores. */
export interface Best {
  /** For equal scores the lower slot wins. */
  add(slot: number, score: number): void;
  /** Best first. */
  sorted(): { readonly slots: number[]; readonly scores: number[] };
}

/** A heap of at most `limit` entries, with the worst one first. */
export function createBest(limit: number): Best {
  const slots = new Int32Array(limit);
  const scores = new Float64Array(limit);
  let size = 0;
  const isWorse = (a: number, b: number): boolean => {
    const [one, other] = [scores[a] as number, scores[b] as number];
    return one < other || (one === other && (slots[a] as number) > (slots[b] as number));
  };
  const swap = (a: number, b: number): void => {
    const [slot, score] = [slots[a] as number, scores[a] as number];
    slots[a] = slots[b] as number;
    scores[a] = scores[b] as number;
    slots[b] = slot;
    scores[b] = score;
  };
  const up = (from: number): void => {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!isWorse(at, parent)) break;
      swap(at, parent);
      at = parent;
    }
  };
  const down = (): void => {
    for (let at = 0; ;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && isWorse(child + 1, child)) child += 1;
      if (!isWorse(child, at)) break;
      swap(at, child);
      at = child;
    }
  };
  return {
    add(slot, score) {
      if (size < limit) {
        slots[size] = slot;
        scores[size] = score;
        size += 1;
        up(size - 1);
        return;
      }
      const worst = scores[0] as number;
      if (score < worst || (score === worst && slot > (slots[0] as number))) return;
      slots[0] = slot;
      scores[0] = score;
      down();
    },
    sorted() {
      const order = Array.from({ length: size }, (_, i) => i).toSorted((a, b) => (isWorse(a, b) ? 1 : -1));
      return { slots: order.map((i) => slots[i] as number), scores: order.map((i) => scores[i] as number) };
    },
  };
}
