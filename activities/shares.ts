import { ApplicationFailure, Context } from "@temporalio/activity";
import { DEFAULT_NODE_TIMEOUT_MS, NODE_GRACE_MS } from "../src/domain/flow/plan/retry.ts";
import { createShares } from "../src/domain/shares.ts";
import type { Asked } from "../src/domain/shares.ts";
import { PRIORITY_KEYS } from "../src/domain/urgency.ts";
import { beat, handedBack } from "./attempts.ts";
import { createLines } from "./lines.ts";
import type { Returns } from "./lines.ts";
import { wrapEach } from "./wrap-each.ts";

/** Temporal's timers are no more exact than this (ms). */
const FIRST_RETURN_MS = 1000;
/** Longest time until handed-back work returns (ms): if somebody waits for it, and otherwise. */
const LAST_RETURN_AWAITED_MS = 5000;
const LAST_RETURN_MS = 120_000;
/** An organisation's long jobs leave one in this many places, and at least one, to work that somebody waits for. */
const LEFT_BY_BATCH = 16;

const AWAITED = "awaited";

/** The line for this work: each organisation has one for awaited work and one for the rest. */
function kindOf({ info: { priority } }: Context, orgId: string): string {
  return `${priority?.priorityKey === PRIORITY_KEYS.awaited ? AWAITED : "other"} ${orgId}`;
}

function returnsOf(kind: string): Returns {
  return { firstMs: FIRST_RETURN_MS, lastMs: kind.startsWith(AWAITED) ? LAST_RETURN_AWAITED_MS : LAST_RETURN_MS };
}

/**
 * Does a task's work, and then calls `release` to free its place; null: there was no place, and the task is handed
 * back.
 */
export type InPlace = <T>(
  context: Context,
  orgId: string,
  release: (() => void) | null,
  work: () => Promise<T>,
) => Promise<T>;

/**
 * For tasks of organisations with places in this process. A task without a place is handed back to Temporal before it
 * starts, with `message`, and returns about when there will be one. `firstMeanMs`: see createLines.
 */
export function createInPlace(inUse: (orgId: string) => number, message: string, firstMeanMs?: number): InPlace {
  const lines = createLines(returnsOf, firstMeanMs);
  return async (context, orgId, release, work) => {
    const kind = kindOf(context, orgId);
    if (release === null) {
      // The next attempt gets the details of the last heartbeat.
      beat(context, { handed_back: handedBack(context) + 1 });
      throw ApplicationFailure.create({
        message,
        type: "over_share",
        nextRetryDelay: lines.returnIn(kind, inUse(orgId)),
        category: "BENIGN",
      });
    }
    const since = performance.now();
    try {
      return await work();
    } finally {
      release();
      lines.ended(kind, performance.now() - since, inUse(orgId));
    }
  };
}

/**
 * Wraps activities: an organisation executes at most its share of the worker's slots at once. A further task is handed
 * back to Temporal before it starts, and returns, here or at another worker, about when there will be a place: as many
 * return as places become free. So other organisations find a place, however long this one's work takes. Awaited work
 * does not queue behind the organisation's other work.
 */
export function shareOut<Activities extends object>(activities: Activities, places: number): Activities {
  const shares = createShares(places);
  const left = Math.max(1, Math.floor(places / LEFT_BY_BATCH));
  const inPlace = createInPlace(
    shares.inUse,
    "The organisation has its share of this worker: the task returns when there is a place.",
  );

  return wrapEach(activities, (work) => async (input) => {
    const context = Context.current();
    const { priority, startToCloseTimeoutMs } = context.info;
    const key = priority?.fairnessKey;
    // Workflows that started before shares existed name no organisation.
    if (!key) return work(input);
    const asked: Asked = {
      long: startToCloseTimeoutMs > DEFAULT_NODE_TIMEOUT_MS + NODE_GRACE_MS,
      leave: priority.priorityKey === PRIORITY_KEYS.batch ? left : 0,
    };
    return inPlace(context, key, shares.take(key, asked), () => work(input));
  });
}
