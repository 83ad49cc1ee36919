import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import { eraseForTurn } from "../../src/services/erasures/erase-user.ts";
import type { EraseDeps } from "../../src/services/erasures/erase.ts";
import type { PurgeDeps } from "../../src/services/house/purge.ts";
import { runPurge } from "../../src/services/house/purges.ts";
import type { Parts } from "../../src/services/parts.ts";
import { whileBeating } from "../attempts.ts";
import { reporting } from "../jobs.ts";
import type { HouseActivities } from "./types.ts";
import { observeFailures, type OnActivityFailure } from "../observe-failures.ts";
import { shareOut } from "../shares.ts";
import { wrapEach } from "../wrap-each.ts";

export interface HouseDeps extends EraseDeps, Omit<PurgeDeps, "isClosed">, Parts<"logger"> {
  /** Aborts as soon as the process begins to stop. */
  readonly stopping: AbortSignal;
  readonly onFailure: OnActivityFailure;
}

/** The activities of erasures and purges. One organisation's erasures take at most half of the worker's `places`. */
export function createHouseActivities(deps: HouseDeps, places: number): HouseActivities {
  const { logger, stopping, onFailure } = deps;
  const activities: HouseActivities = {
    purge: ({ name }) =>
      noting(stopping, async (note, isClosed) => {
        const removed = await runPurge({ ...deps, isClosed }, name, (count) => note({ removed: count }));
        if (removed > 0) logger.info({ purge: name, removed }, "deleted expired data");
        if (isClosed()) throw handedOver();
        return removed;
      }),
    eraseForTurn: ({ erasure_id }) =>
      noting(stopping, (note, isClosed) =>
        eraseForTurn({ ...deps, isClosed, note: (step) => note({ step }) }, erasure_id),
      ),
  };
  const { purge, eraseForTurn: turn } = wrapEach(observeFailures(activities, onFailure), reporting);
  const erasing: Pick<HouseActivities, "eraseForTurn"> = {
    eraseForTurn: (input) => withoutTexts(() => turn(input)),
  };
  return { purge, ...shareOut(erasing, places) };
}

/** Work whose heartbeats repeat what it noted last. */
async function noting<T>(
  stopping: AbortSignal,
  work: (note: (where: object) => void, isClosed: () => boolean) => Promise<T>,
): Promise<T> {
  const { cancellationSignal } = Context.current();
  let where: object = {};
  return whileBeating(
    () =>
      work(
        (next) => (where = next),
        () => stopping.aborted || cancellationSignal.aborted,
      ),
    () => where,
  );
}

const handedOver = (): ApplicationFailure =>
  ApplicationFailure.create({
    message: "The worker is stopping; another one repeats this purge.",
    type: "stopping",
    nextRetryDelay: "1 second",
    category: "BENIGN",
  });

/** Hides a failure's message from Temporal, because it may quote values of the user, and histories of erasures stay. */
async function withoutTexts<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CancelledFailure) throw error;
    throw new Error("A part of the erasure failed; see the worker logs for the reason.");
  }
}
