export const ERASURE_STATES = ["PENDING", "RUNNING", "COMPLETED"] as const;
export type ErasureState = (typeof ERASURE_STATES)[number];

/**
 * The steps of an erasure in order. The steps from `runs` to `audit` form a pass that is repeated until it finds nothing; later passes find
 * data that other processes were still writing.
 */
export const ERASURE_STEPS = ["runs", "user", "events", "answers", "audit", "histories", "blobs"] as const;
export type ErasureStep = (typeof ERASURE_STEPS)[number];

/** The input of an erasure's workflow. */
export interface ErasureInput {
  readonly erasure_id: string;
  readonly activity_queue: string;
}

/** The position from which an erasure continues after a pause or a crash. */
export interface ErasureProgress {
  readonly step: ErasureStep;
  /** The last row that the step has processed; null if none. */
  readonly after: string | null;
  /** When the erasure last found something (RFC 3339). */
  readonly found_at: string | null;
  /** Whether the current pass has found something. */
  readonly found: boolean;
}

export const FIRST_PROGRESS: ErasureProgress = { step: "runs", after: null, found_at: null, found: false };

/** Counts of erased items, by store. */
export type ErasureCounts = Readonly<Record<string, number>>;

/** Data that is kept, and why. */
export interface ErasureRest {
  readonly store: string;
  readonly count: number | null;
  readonly reason: string;
}

/** Replaces the user's ID in settings and filters. */
export const ERASED = "[erased]";

/** What one execution of a step has done. */
export interface ErasureSlice {
  /** The last row of a page, from which the step continues; null after the last page. */
  readonly after: string | null;
  /** The step is executed again from its first page, although this was its last. */
  readonly again?: boolean;
  readonly found: number;
}

/**
 * The position from which an erasure continues after a step, or "end". `quietMs`: how long nothing may be found before the passes end.
 */
export function nextProgress(
  progress: ErasureProgress,
  { after, again = false, found }: ErasureSlice,
  { now, quietMs }: { readonly now: number; readonly quietMs: number },
): ErasureProgress | "end" {
  const seen =
    found > 0
      ? { found: true, found_at: new Date(now).toISOString() }
      : { found: progress.found, found_at: progress.found_at };
  if (again || after !== null) return { ...seen, step: progress.step, after };
  if (progress.step === "audit") {
    const isQuiet = seen.found_at === null || now - Date.parse(seen.found_at) >= quietMs;
    const step = seen.found || !isQuiet ? "runs" : "histories";
    return { step, after: null, found: false, found_at: seen.found_at };
  }
  const next = ERASURE_STEPS[ERASURE_STEPS.indexOf(progress.step) + 1];
  return next === undefined ? "end" : { ...seen, step: next, after: null };
}
