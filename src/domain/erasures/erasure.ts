export const ERASURE_STATES = ["PENDING", "RUNNING", "COMPLETED"] as const;
export type ErasureState = (typeof ERASURE_STATES)[number];

/**
 * The parts of an erasure in their order. From `runs` to `audit` they are one pass, which is repeated until it finds nothing any
 * more; what is found last is what others were about to write.
 */
export const ERASURE_STEPS = ["runs", "user", "events", "answers", "audit", "histories", "blobs"] as const;
export type ErasureStep = (typeof ERASURE_STEPS)[number];

/** Where an erasure goes on after a pause or a crash. */
export interface ErasureProgress {
  readonly step: ErasureStep;
  /** The last row that the step has looked at; null: none yet. */
  readonly after: string | null;
  /** When something was found last (RFC 3339). */
  readonly found_at: string | null;
  /** Whether this pass has found something. */
  readonly found: boolean;
}

export const FIRST_PROGRESS: ErasureProgress = { step: "runs", after: null, found_at: null, found: false };

/** What an erasure counts, by store. */
export type ErasureCounts = Readonly<Record<string, number>>;

/** What stays, and why. */
export interface ErasureRest {
  readonly store: string;
  readonly count: number | null;
  readonly reason: string;
}

/** What stands in settings and filters where the user's id was. */
export const ERASED = "[erased]";

/**
 * Where a pass goes on after a step. `after`: of the last row of a page that is not the last one; `found`: how much the step has
 * found; `quietMs`: how long nothing may be found before the erasure ends.
 */
export function nextProgress(
  progress: ErasureProgress,
  {
    after,
    found,
    now,
    quietMs,
  }: { readonly after: string | null; readonly found: number; readonly now: number; readonly quietMs: number },
): ErasureProgress {
  const seen =
    found > 0
      ? { found: true, found_at: new Date(now).toISOString() }
      : { found: progress.found, found_at: progress.found_at };
  if (after !== null) return { ...seen, step: progress.step, after };
  const next = ERASURE_STEPS[ERASURE_STEPS.indexOf(progress.step) + 1] ?? "blobs";
  if (progress.step !== "audit") return { ...seen, step: next, after: null };
  const isQuiet = seen.found_at === null || now - Date.parse(seen.found_at) >= quietMs;
  const again = seen.found || !isQuiet;
  return { step: again ? "runs" : next, after: null, found: false, found_at: seen.found_at };
}
