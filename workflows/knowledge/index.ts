import { continueAsNew } from "@temporalio/workflow";
import { ownActivities } from "../activities.ts";
import type { ResourceActivities, SyncActivities } from "../../activities/knowledge/types.ts";
import type { ResourceInput } from "../../src/domain/knowledge/ingest.ts";
import type { SyncInput } from "../../src/domain/knowledge/sync.ts";

const FETCH_TIMEOUT_MS = 300_000;
/** The parser has shorter limits of its own, for a document and for each page with character recognition. */
const EXTRACT_TIMEOUT_MS = 3_600_000;
/** A long document may have thousands of chunks to embed. A retry keeps the ones that are finished. */
const INDEX_TIMEOUT_MS = 12 * 3_600_000;
const BEGIN_TIMEOUT_MS = 60_000;
/** Only an upper limit: activities of a sync hand the work back much earlier. */
const STEP_TIMEOUT_MS = 600_000;
/** Number of activities after which the workflow of a sync continues as new. */
const MAX_ACTIVITIES = 200;

/**
 * Indexes a revision of a document: fetches its bytes, extracts their text, and indexes its chunks. The document's row has the result, or
 * the reason of a failure.
 */
export async function ingestResource(input: ResourceInput): Promise<void> {
  if ((await ownActivities<ResourceActivities>(FETCH_TIMEOUT_MS).fetchResource(input)) === "stop") return;
  if ((await ownActivities<ResourceActivities>(EXTRACT_TIMEOUT_MS).extractResource(input)) === "stop") return;
  await ownActivities<ResourceActivities>(INDEX_TIMEOUT_MS).indexResource(input);
}

/** Starts a scheduled sync, unless one is already running. */
export async function scheduledSync(base: Omit<SyncInput, "sync_id">): Promise<void> {
  await ownActivities<SyncActivities>(BEGIN_TIMEOUT_MS).beginScheduledSync(base);
}

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
