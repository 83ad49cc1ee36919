import type { HandedBack } from "../src/domain/runs/handed-back.ts";
import { createShares } from "../src/domain/shares.ts";
import { isBusy } from "../src/platform/children/child-pool.ts";
import type { LocalActivities } from "./index.ts";
import { createLines } from "./lines.ts";

/** Most concurrent local work of all organisations: far less than the workflow steps that a process runs. */
const PLACES = 48;
/** How long work waits for a place (ms); a burst of short work finds places within it. */
const PATIENCE_MS = 1000;
/** How much work of one organisation may wait for a place. */
const MAX_WAITING = 64;
/** Bounds of the time until handed-back work returns. A cancelled run waits for it. */
const RETURNS = { firstMs: 1000, lastMs: 20_000 };

interface Waiting {
  readonly key: string;
  readonly grant: (release: () => void) => void;
}

/** Does local work of an organisation, or hands it back if the organisation has used up its share. */
export type InPlace = <T>(key: string, work: () => Promise<T>) => Promise<T | HandedBack>;

/**
 * Places for local work whose length a caller decides. A workflow step that waits for one occupies a slot of its
 * process that other workflows need. So work beyond an organisation's share is handed back, and the workflow asks
 * again after a timer, while it occupies nothing.
 */
export function createLocalShares({ places = PLACES, patienceMs = PATIENCE_MS } = {}): InPlace {
  const shares = createShares(places);
  const lines = createLines(() => RETURNS);
  const waiting: Waiting[] = [];

  function serveWaiting(): void {
    for (const next of waiting.slice()) {
      const release = shares.take(next.key);
      if (release === null) continue;
      waiting.splice(waiting.indexOf(next), 1);
      next.grant(release);
    }
  }

  async function place(key: string): Promise<(() => void) | null> {
    const release = shares.take(key);
    if (release !== null || waiting.filter((each) => each.key === key).length >= MAX_WAITING) return release;
    return new Promise((resolve) => {
      const mine: Waiting = {
        key,
        grant(granted) {
          clearTimeout(timer);
          resolve(granted);
        },
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(mine), 1);
        resolve(null);
      }, patienceMs);
      waiting.push(mine);
    });
  }

  return async function inPlace<T>(key: string, work: () => Promise<T>): Promise<T | HandedBack> {
    const release = await place(key);
    if (release === null) return { handed_back_ms: lines.returnIn(key, shares.inUse(key)) };
    const since = performance.now();
    try {
      return await work();
    } catch (error) {
      if (isBusy(error)) return { handed_back_ms: lines.returnIn(key, shares.inUse(key)) };
      throw error;
    } finally {
      release();
      serveWaiting();
      lines.ended(key, performance.now() - since, shares.inUse(key));
    }
  };
}

/** The same activities, with shares for those whose length a caller decides. */
export function shareOutLocal(activities: LocalActivities, inPlace: InPlace = createLocalShares()): LocalActivities {
  return {
    ...activities,
    evaluate: (input) => inPlace(input.run.org_id, () => activities.evaluate(input)),
    // Workflows that started before shares existed name no organisation.
    wait: (input) =>
      input.org_id === undefined ? activities.wait(input) : inPlace(input.org_id, () => activities.wait(input)),
  };
}
