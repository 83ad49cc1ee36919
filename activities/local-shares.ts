import type { HandedBack } from "../src/domain/runs/handed-back.ts";
import { createPlaces, NoPlace } from "../src/domain/places.ts";
import { isBusy } from "../src/platform/children/pool-failure.ts";
import type { LocalActivities } from "./local-activities.ts";
import { createLines } from "./lines.ts";

/** Most concurrent local work of all organisations: far less than the number of workflow steps that a process runs. */
const PLACES = 48;
/** How long work waits for a slot (ms), long enough for a burst of short work to get through. */
const PATIENCE_MS = 1000;
/** Most pieces of work of one organisation that wait for a slot. */
const MAX_WAITING = 64;
/** Bounds of the time until handed-back work returns; short, because a cancelled run waits for it. */
const RETURNS = { firstMs: 1000, lastMs: 20_000 };

/** Runs local work of an organisation, or hands it back if the organisation has used up its share. */
export type LocalShares = <T>(key: string, work: () => Promise<T>) => Promise<T | HandedBack>;

/**
 * Slots for local work whose duration the caller decides. A workflow step that waits for one blocks its process's other
 * workflows. So work beyond an organisation's share is handed back, and the workflow retries it after a timer that
 * occupies nothing.
 */
export function createLocalShares({ places = PLACES, patienceMs = PATIENCE_MS } = {}): LocalShares {
  const shared = createPlaces(places);
  const lines = createLines();

  return async function withinShare<T>(key: string, work: () => Promise<T>): Promise<T | HandedBack> {
    try {
      const release = await shared.take(key, { maxWaiting: MAX_WAITING, patienceMs });
      return await lines.hold(key, work, release, () => shared.inUse(key));
    } catch (error) {
      if (isBusy(error) || error instanceof NoPlace)
        return { handed_back_ms: lines.returnIn(key, shared.inUse(key), RETURNS) };
      throw error;
    }
  };
}

/** Wraps the activities whose duration the caller decides, so that they keep to the organisation's share. */
export function shareOutLocal(
  activities: LocalActivities,
  withinShare: LocalShares = createLocalShares(),
): LocalActivities {
  return {
    ...activities,
    evaluate: (input) => withinShare(input.run.org_id, () => activities.evaluate(input)),
    // Workflows started by an earlier release do not name their organisation.
    wait: (input) =>
      input.org_id === undefined ? activities.wait(input) : withinShare(input.org_id, () => activities.wait(input)),
  };
}
