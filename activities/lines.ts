/** The duration assumed until the first piece of work has ended (ms), and the weight of the latest one in the mean. */
const FIRST_MEAN_MS = 5000;
const WEIGHT = 0.2;
/** Least and greatest time between two returns (ms). */
const MIN_SPACING_MS = 10;
const MAX_SPACING_MS = 1000;

/** The work of one kind that a process has handed back. */
interface Line {
  /** When the last of them returns (ms, monotonic). */
  endsAt: number;
  /** Places that this kind of work held when the last of them was handed back. */
  places: number;
  /** The mean duration of this work here. */
  meanMs: number;
}

/** Computes when handed-back work should return, by kind of work. */
export interface Lines {
  /**
   * When work that finds this many places taken should return (ms): it returns at the rate at which places become
   * free.
   */
  returnIn(kind: string, places: number): number;
  /** A piece of work has ended; `places` of its kind are taken now. */
  ended(kind: string, tookMs: number, places: number): void;
}

/** The shortest and the longest time until work returns (ms). */
export interface Returns {
  readonly firstMs: number;
  readonly lastMs: number;
}

export function createLines(returnsOf: (kind: string) => Returns, firstMeanMs = FIRST_MEAN_MS): Lines {
  const lines = new Map<string, Line>();
  return {
    returnIn(kind, places) {
      const now = performance.now();
      const line = lines.get(kind) ?? { endsAt: 0, places, meanMs: firstMeanMs };
      lines.set(kind, line);
      const { firstMs, lastMs } = returnsOf(kind);
      const spacing = Math.min(MAX_SPACING_MS, Math.max(MIN_SPACING_MS, line.meanMs / Math.max(1, places)));
      // It ends no later than the last one's return, so cancelled work leaves no gap.
      line.endsAt = Math.min(now + lastMs, Math.max(now + firstMs, line.endsAt + spacing));
      line.places = places;
      return line.endsAt - now;
    },
    ended(kind, tookMs, places) {
      const line = lines.get(kind);
      if (!line) return;
      line.meanMs += (tookMs - line.meanMs) * WEIGHT;
      // The load has ended and places are free. New work must not wait behind work that is gone.
      if (places <= line.places / 2) line.endsAt = 0;
      if (places === 0) lines.delete(kind);
    },
  };
}
