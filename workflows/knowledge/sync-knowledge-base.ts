import { continueAsNew } from "@temporalio/workflow";
import { ownActivities } from "../activities.ts";
import type { SyncActivities } from "../../activities/knowledge/types.ts";
import type { SyncInput } from "../../src/domain/knowledge/sync.ts";

/** Only an upper limit: activities hand the work back much earlier. */
const STEP_TIMEOUT_MS = 600_000;
/** Number of activities after which the workflow continues as new. */
const MAX_ACTIVITIES = 200;

/**
 * Keeps a worker on a sync until the sync has ended. The progress is in the sync's rows: when missing heartbeats show that a worker has
 * died, another one continues from there. The workflow itself has no state, however many documents there are.
 */
export async function syncKnowledgeBase(input: SyncInput): Promise<void> {
  const { listSync, readSync, finishSync } = ownActivities<SyncActivities>(STEP_TIMEOUT_MS);
  const steps = [listSync, readSync, finishSync];
  let at = 0;
  for (let made = 0; made < MAX_ACTIVITIES; made += 1) {
    const outcome = await steps[at]?.(input);
    // The last step may find that there are more documents to read.
    if (outcome === "more") at = Math.min(at, 1);
    else at += 1;
    if (outcome === "stop" || at === steps.length) return;
  }
  await continueAsNew<typeof syncKnowledgeBase>(input);
}
