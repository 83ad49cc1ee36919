import { ApplicationFailure, Context } from "@temporalio/activity";
import { createShares } from "../src/domain/shares.ts";
import { beat, handedBack } from "./attempts.ts";

/** Temporal's timers are no more exact (ms). */
const FIRST_RETURN_MS = 1000;
/** Longest time until what was handed back is looked at again (ms). */
const LAST_RETURN_MS = 120_000;
/** Times between two that return (ms). */
const MIN_SPACING_MS = 10;
const MAX_SPACING_MS = 1000;
/** The duration assumed until the first activity has ended (ms), and the weight of the latest one in the mean. */
const FIRST_MEAN_MS = 5000;
const WEIGHT = 0.2;

/** What a worker has handed back of an organisation. */
interface Line {
  /** When the last of them returns (ms, monotonic). */
  endsAt: number;
  /** How long this organisation's activities last here. */
  meanMs: number;
}

/**
 * Wraps activities: an organisation executes no more of them at once than its share of the worker's slots. A task that
 * comes beyond is handed back to Temporal before it begins, and returns, here or at another worker, about when there will be a
 * place for it: as many return as places become free. So there is a place for who comes next, however long the work of the
 * others takes.
 */
export function shareOut<Activities extends object>(activities: Activities, places: number): Activities {
  const shares = createShares(places);
  const lines = new Map<string, Line>();

  const lineOf = (key: string): Line => {
    const line = lines.get(key) ?? { endsAt: 0, meanMs: FIRST_MEAN_MS };
    lines.set(key, line);
    return line;
  };

  function handBack(context: Context, key: string): ApplicationFailure {
    const now = performance.now();
    const line = lineOf(key);
    const spacing = Math.min(MAX_SPACING_MS, Math.max(MIN_SPACING_MS, line.meanMs / Math.max(1, shares.inUse(key))));
    line.endsAt = Math.max(now + FIRST_RETURN_MS, line.endsAt + spacing);
    // What was sent last is there in the next attempt.
    beat(context, { handed_back: handedBack(context) + 1 });
    return ApplicationFailure.create({
      message: "The organisation has its share of this worker: the task returns when there is a place.",
      type: "over_share",
      nextRetryDelay: Math.min(LAST_RETURN_MS, line.endsAt - now),
      category: "BENIGN",
    });
  }

  function ended(key: string, tookMs: number): void {
    const line = lineOf(key);
    line.meanMs += (tookMs - line.meanMs) * WEIGHT;
    if (shares.inUse(key) === 0 && line.endsAt < performance.now()) lines.delete(key);
  }

  const shared = Object.entries(activities).map(([name, work]: [string, (input: unknown) => Promise<unknown>]) => {
    const call = async (input: unknown): Promise<unknown> => {
      const context = Context.current();
      const key = context.info.priority?.fairnessKey;
      // Of workflows that were started before there were shares.
      if (!key) return work(input);
      const release = shares.take(key);
      if (release === null) throw handBack(context, key);
      const since = performance.now();
      try {
        return await work(input);
      } finally {
        release();
        ended(key, performance.now() - since);
      }
    };
    return [name, call] as const;
  });
  return Object.fromEntries(shared) as Activities;
}
