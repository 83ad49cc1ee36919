import { ApplicationFailure, isCancellation } from "@temporalio/workflow";
import type { HouseInput } from "../../src/domain/house.ts";
import { houseActivities } from "../activities.ts";
import { movesToNewBuilds } from "../moves-to-new-builds.ts";

/** How often a purge is tried in one round; the next round tries it again. */
const ATTEMPTS = 5;

/**
 * Runs purges one after another. One that fails does not stop the others: the round fails at its end and names it.
 * Returns how many items each purge has removed, without the ones that found nothing.
 */
export async function keepHouse({ purges, activity_queue }: HouseInput): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  const failed: string[] = [];
  for (const name of purges) {
    try {
      const count = await houseActivities(activity_queue, { activityId: name, attempts: ATTEMPTS }).purge({ name });
      if (count > 0) removed[name] = count;
    } catch (error) {
      if (isCancellation(error)) throw error;
      failed.push(name);
    }
  }
  if (failed.length > 0) throw ApplicationFailure.nonRetryable(`failed: ${failed.join(", ")}`, "purges_failed");
  return removed;
}

movesToNewBuilds(keepHouse);
