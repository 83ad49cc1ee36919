import { Context } from "@temporalio/activity";
import { digestId } from "../../src/domain/derived-id.ts";
import { Problem } from "../../src/domain/errors.ts";
import type { SyncInput } from "../../src/domain/knowledge/sync.ts";
import { firstIdOf } from "../../src/domain/uuid.ts";
import { requestSync } from "../../src/services/knowledge/sync.ts";
import type { Database } from "../../src/stores/db.ts";

/** Starts the sync of a schedule, once for all attempts; does nothing if a sync is running or the knowledge base is deleted. */
export function createBeginScheduledSync({ db }: { readonly db: Database }) {
  return async function beginScheduledSync(base: Omit<SyncInput, "sync_id">): Promise<void> {
    const { scheduledTimestampMs, workflowExecution } = Context.current().info;
    const sync_id = digestId(firstIdOf(scheduledTimestampMs), workflowExecution?.runId ?? "");
    const sync = { ...base, sync_id, mode: "incremental", delete_missing: true, trigger: "schedule" } as const;
    try {
      await requestSync(db, sync);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  };
}
