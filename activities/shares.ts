import { ApplicationFailure, Context } from "@temporalio/activity";
import { DEFAULT_NODE_TIMEOUT_MS, NODE_GRACE_MS } from "../src/domain/flow/plan/retry.ts";
import { createShares } from "../src/domain/shares.ts";
import type { Asked } from "../src/domain/shares.ts";
import { PRIORITY_KEYS } from "../src/domain/urgency.ts";
import { beat, handedBack } from "./attempts.ts";
import { createLines } from "./lines.ts";
import type { Returns } from "./lines.ts";

/** Temporal's timers are no more exact (ms). */
const FIRST_RETURN_MS = 1000;
/** Longest time until what was handed back is looked at again (ms): of what somebody waits for, and of the rest. */
const LAST_RETURN_AWAITED_MS = 5000;
const LAST_RETURN_MS = 120_000;
/** Of the places, one in so many is left by an organisation's long jobs to what it is waiting for, and at least one. */
const LEFT_BY_BATCH = 16;

const AWAITED = "awaited";

/** The line that work of an organisation stands in. */
function kindOf({ info: { priority } }: Context, orgId: string): string {
  return `${priority?.priorityKey === PRIORITY_KEYS.awaited ? AWAITED : "other"} ${orgId}`;
}

function returnsOf(kind: string): Returns {
  return { firstMs: FIRST_RETURN_MS, lastMs: kind.startsWith(AWAITED) ? LAST_RETURN_AWAITED_MS : LAST_RETURN_MS };
}

/** Does the work of a task in the place that `release` gives free; null: there was none, and the task is handed back. */
export type InPlace = <T>(
  context: Context,
  orgId: string,
  release: (() => void) | null,
  work: () => Promise<T>,
) => Promise<T>;

/**
 * For tasks of organisations that have places in this process. One without a place is given back to Temporal before it begins,
 * with `message`, and returns about when there will be one. `firstMeanMs`: see createLines.
 */
export function createInPlace(inUse: (orgId: string) => number, message: string, firstMeanMs?: number): InPlace {
  const lines = createLines(returnsOf, firstMeanMs);
  return async (context, orgId, release, work) => {
    const kind = kindOf(context, orgId);
    if (release === null) {
      // What was sent last is there in the next attempt.
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
 * Wraps activities: an organisation executes no more of them at once than its share of the worker's slots. A task that
 * comes beyond is handed back to Temporal before it begins, and returns, here or at another worker, about when there will be a
 * place for it: as many return as places become free. So there is a place for who comes next, however long the work of the
 * others takes. What somebody waits for does not stand in a line with the organisation's other work.
 */
export function shareOut<Activities extends object>(activities: Activities, places: number): Activities {
  const shares = createShares(places);
  const left = Math.max(1, Math.floor(places / LEFT_BY_BATCH));
  const inPlace = createInPlace(
    shares.inUse,
    "The organisation has its share of this worker: the task returns when there is a place.",
  );

  const shared = Object.entries(activities).map(([name, work]: [string, (input: unknown) => Promise<unknown>]) => {
    const call = async (input: unknown): Promise<unknown> => {
      const context = Context.current();
      const { priority, startToCloseTimeoutMs } = context.info;
      const key = priority?.fairnessKey;
      // Of workflows that were started before there were shares.
      if (!key) return work(input);
      const asked: Asked = {
        long: startToCloseTimeoutMs > DEFAULT_NODE_TIMEOUT_MS + NODE_GRACE_MS,
        leave: priority.priorityKey === PRIORITY_KEYS.batch ? left : 0,
      };
      return inPlace(context, key, shares.take(key, asked), () => work(input));
    };
    return [name, call] as const;
  });
  return Object.fromEntries(shared) as Activities;
}
