import type { HandedBack } from "../src/domain/runs/handed-back.ts";
import { createShares } from "../src/domain/shares.ts";
import { isBusy } from "../src/platform/children/child-pool.ts";
import type { LocalActivities } from "./index.ts";
import { createLines } from "./lines.ts";

/** Pieces of local work at once, of all organisations: far fewer than the steps of workflows a process may have in hand. */
const PLACES = 48;
/** A burst of short work finds places within this time (ms), ... */
const PATIENCE_MS = 1000;
/** ... and so much of one organisation may wait for them. */
const MAX_WAITING = 64;
/** A cancelled run waits for its return. */
const RETURNS = { firstMs: 1000, lastMs: 20_000 };

interface Waiting {
  readonly key: string;
  readonly grant: (release: () => void) => void;
}

/** Does a piece of local work of an organisation, or hands it back where that has its share. */
export type InPlace = <T>(key: string, work: () => Promise<T>) => Promise<T | HandedBack>;

/**
 * Places for local work whose length a caller decides. A step of a workflow that waits for one holds a place in its process
 * that the workflows of others need. So what is beyond an organisation's share is handed back, and the workflow asks again
 * by a timer, when it holds nothing.
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

/** The same activities. Those whose length a caller decides are shared out. */
export function shareOutLocal(activities: LocalActivities, inPlace: InPlace = createLocalShares()): LocalActivities {
  return {
    ...activities,
    evaluate: (input) => inPlace(input.run.org_id, () => activities.evaluate(input)),
    // Workflows that began before there were shares name no organisation.
    wait: (input) =>
      input.org_id === undefined ? activities.wait(input) : inPlace(input.org_id, () => activities.wait(input)),
  };
}
