import { ownActivities } from "../activities.ts";
import type { SyncActivities } from "../../activities/knowledge/types.ts";
import type { SyncInput } from "../../src/domain/knowledge/sync.ts";

const TIMEOUT_MS = 60_000;

/** Starts a scheduled sync, unless one is already running. */
export async function scheduledSync(base: Omit<SyncInput, "sync_id">): Promise<void> {
  await ownActivities<SyncActivities>(TIMEOUT_MS).beginScheduledSync(base);
}
