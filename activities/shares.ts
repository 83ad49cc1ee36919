import { ApplicationFailure, Context } from "@temporalio/activity";
import type { Duration } from "@temporalio/common";
import { DEFAULT_NODE_TIMEOUT_MS, NODE_GRACE_MS } from "../src/domain/flow/plan/retry.ts";
import { createShares, type Asked } from "../src/domain/shares.ts";
import { PRIORITY_KEYS } from "../src/domain/urgency.ts";
import { beat, carried } from "./attempts.ts";
import { createLines } from "./lines.ts";
import { wrapEach } from "./wrap-each.ts";

/** Shortest time until handed-back work returns (ms): Temporal's timers are not more exact. */
const FIRST_RETURN_MS = 1000;
/** Longest time until handed-back work returns (ms): the first if a caller waits for it, the second otherwise. */
const LAST_RETURN_AWAITED_MS = 5000;
const LAST_RETURN_MS = 120_000;
/** An organisation's long jobs leave one slot in this many, and at least one, to work that a caller waits for. */
const LEFT_BY_BATCH = 16;

/** Hands a task back to Temporal before it starts; it returns after `nextRetryDelay`, here or at another worker. */
export function handBack(context: Context, message: string, nextRetryDelay: Duration): never {
  // Counted in a heartbeat, whose details the next attempt receives.
  beat(context, { handed_back: carried(context).handed_back + 1 });
  throw ApplicationFailure.create({ message, type: "over_share", nextRetryDelay, category: "BENIGN" });
}

/**
 * Does a task's work, and then calls `release` to free its slot; if `release` is null there was no slot, and the task
 * is handed back.
 */
export type InPlace = <T>(
  context: Context,
  orgId: string,
  release: (() => void) | null,
  work: () => Promise<T>,
) => Promise<T>;

/**
 * For tasks of organisations that have slots in this process. A task without a slot is handed back to Temporal before
 * it starts, with `message`, and returns about when a slot will be free. `firstMeanMs`: see createLines.
 */
export function createInPlace(inUse: (orgId: string) => number, message: string, firstMeanMs?: number): InPlace {
  // Each organisation has a line for awaited work and one for the rest.
  const awaited = {
    lines: createLines(firstMeanMs),
    returns: { firstMs: FIRST_RETURN_MS, lastMs: LAST_RETURN_AWAITED_MS },
  };
  const other = { lines: createLines(firstMeanMs), returns: { firstMs: FIRST_RETURN_MS, lastMs: LAST_RETURN_MS } };
  return async (context, orgId, release, work) => {
    const { lines, returns } = context.info.priority?.priorityKey === PRIORITY_KEYS.awaited ? awaited : other;
    if (release === null) handBack(context, message, lines.returnIn(orgId, inUse(orgId), returns));
    return lines.hold(orgId, work, release, () => inUse(orgId));
  };
}

/**
 * Wraps activities: an organisation uses at most its share of the worker's slots at the same time. A further task is
 * handed back to Temporal before it starts, and returns on any worker about when a slot will be free. So other
 * organisations find a slot, however long this one's work takes. Awaited work does not queue behind the organisation's
 * other work.
 */
export function shareOut<Activities extends object>(
  activities: Activities,
  places: number,
  shares = createShares(places),
): Activities {
  const left = Math.max(1, Math.floor(places / LEFT_BY_BATCH));
  const inPlace = createInPlace(
    shares.inUse,
    "The organisation's share of this worker is in use: the task is queued again when a slot is free.",
  );

  return wrapEach(activities, (work) => async (input) => {
    const context = Context.current();
    const { priority, startToCloseTimeoutMs } = context.info;
    const key = priority?.fairnessKey;
    // Workflows started by an earlier release do not name their organisation.
    if (!key) return work(input);
    const asked: Asked = {
      long: startToCloseTimeoutMs > DEFAULT_NODE_TIMEOUT_MS + NODE_GRACE_MS,
      leave: priority.priorityKey === PRIORITY_KEYS.batch ? left : 0,
    };
    return inPlace(context, key, shares.take(key, asked), () => work(input));
  });
}
