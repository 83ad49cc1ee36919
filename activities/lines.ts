/** The duration assumed until the first piece of work has ended (ms), and the weight of the latest one in the mean. */
const FIRST_MEAN_MS = 5000;
const WEIGHT = 0.2;
/** Times between two that return (ms). */
const MIN_SPACING_MS = 10;
const MAX_SPACING_MS = 1000;

/** What a process has handed back of one kind of work. */
interface Line {
  /** When the last of them returns (ms, monotonic). */
  endsAt: number;
  /** Places the work held when the last of them was handed back. */
  places: number;
  /** How long this work lasts here. */
  meanMs: number;
}

/** Tells work that is handed back when to return, by kind of work. */
export interface Lines {
  /** When one that finds so many places held is to return (ms): as many return as places become free. */
  returnIn(kind: string, places: number): number;
  /** A piece of work has ended; so many places of its kind are held now. */
  ended(kind: string, tookMs: number, places: number): void;
}

/** The shortest and the longest time until work returns (ms). */
export interface Returns {
  readonly firstMs: number;
  readonly lastMs: number;
}

export function createLines(returnsOf: (kind: string) => Returns): Lines {
  const lines = new Map<string, Line>();
  return {
    returnIn(kind, places) {
      const now = performance.now();
      const line = lines.get(kind) ?? { endsAt: 0, places, meanMs: FIRST_MEAN_MS };
      lines.set(kind, line);
      const { firstMs, lastMs } = returnsOf(kind);
      const spacing = Math.min(MAX_SPACING_MS, Math.max(MIN_SPACING_MS, line.meanMs / Math.max(1, places)));
      // It ends no later than the last one returns: what was cancelled meanwhile leaves no gap behind.
      line.endsAt = Math.min(now + lastMs, Math.max(now + firstMs, line.endsAt + spacing));
      line.places = places;
      return line.endsAt - now;
    },
    ended(kind, tookMs, places) {
      const line = lines.get(kind);
      if (!line) return;
      line.meanMs += (tookMs - line.meanMs) * WEIGHT;
      // The load has ended: nobody takes the places. What comes from now on is not to wait behind what is gone.
      if (places <= line.places / 2) line.endsAt = 0;
      if (places === 0) lines.delete(kind);
    },
  };
}
