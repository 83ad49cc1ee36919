import { createHash } from "node:crypto";
import { Context } from "@temporalio/activity";
import { Problem } from "../../src/domain/errors.ts";
import type { SyncInput } from "../../src/domain/knowledge/sync.ts";
import { uuid7Of } from "../../src/domain/uuid.ts";
import { requestSync } from "../../src/services/knowledge/sync.ts";
import type { SyncDeps } from "../../src/services/knowledge/sync.ts";

/** Starts the sync of a schedule, once in all attempts. Starts none where one is running or the knowledge base is deleted. */
export function createBeginScheduledSync(deps: SyncDeps) {
  return async function beginScheduledSync(base: Omit<SyncInput, "sync_id">): Promise<void> {
    const { scheduledTimestampMs, workflowExecution } = Context.current().info;
    const time = scheduledTimestampMs.toString(16).padStart(12, "0");
    const hash = createHash("sha256")
      .update(workflowExecution?.runId ?? "")
      .digest("hex");
    const sync_id = uuid7Of(`${time.slice(0, 8)}-${time.slice(8)}`, hash);
    const sync = { ...base, sync_id, mode: "incremental", delete_missing: true, trigger: "schedule" } as const;
    try {
      await requestSync(deps, sync);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  };
}
