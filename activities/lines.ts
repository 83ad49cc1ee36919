/** The duration assumed until the first piece of work has ended (ms), and the weight of each new duration in the mean. */
const FIRST_MEAN_MS = 5000;
const WEIGHT = 0.2;
/** Least and greatest time between two returns (ms). */
const MIN_SPACING_MS = 10;
const MAX_SPACING_MS = 1000;

/** The work of one kind that a process has handed back. */
interface Line {
  /** When the last handed-back piece of work returns (ms, monotonic). */
  endsAt: number;
  /** Slots that this kind of work held when the last piece was handed back. */
  places: number;
  /** The mean duration of this work in this process (ms). */
  meanMs: number;
}

/** Computes when handed-back work should return, by kind of work. */
export interface Lines {
  /** How soon work that finds `places` slots taken should return (ms): at the rate at which slots become free. */
  returnIn(kind: string, places: number, returns: Returns): number;
  /** Does work that holds a slot, and then calls `release`; `placesLeft`: how many slots its kind holds from then on. */
  hold<T>(kind: string, work: () => Promise<T>, release: () => void, placesLeft: () => number): Promise<T>;
}

/** The shortest and the longest time until work returns (ms). */
export interface Returns {
  readonly firstMs: number;
  readonly lastMs: number;
}

export function createLines(firstMeanMs = FIRST_MEAN_MS): Lines {
  const lines = new Map<string, Line>();

  function ended(kind: string, tookMs: number, places: number): void {
    const line = lines.get(kind);
    if (!line) return;
    line.meanMs += (tookMs - line.meanMs) * WEIGHT;
    // The load is over, so new work must not queue behind work that has already been done.
    if (places <= line.places / 2) line.endsAt = 0;
    if (places === 0) lines.delete(kind);
  }

  return {
    returnIn(kind, places, { firstMs, lastMs }) {
      // Of a fraction, (now + firstMs) - now may be a little less than firstMs.
      const now = Math.floor(performance.now());
      const line = lines.get(kind) ?? { endsAt: 0, places, meanMs: firstMeanMs };
      lines.set(kind, line);
      const spacing = Math.min(MAX_SPACING_MS, Math.max(MIN_SPACING_MS, line.meanMs / Math.max(1, places)));
      // The line never extends beyond the longest return time, so cancelled work leaves no gap in it.
      line.endsAt = Math.min(now + lastMs, Math.max(now + firstMs, line.endsAt + spacing));
      line.places = places;
      return line.endsAt - now;
    },
    async hold(kind, work, release, placesLeft) {
      const since = performance.now();
      try {
        return await work();
      } finally {
        release();
        ended(kind, performance.now() - since, placesLeft());
      }
    },
  };
}
