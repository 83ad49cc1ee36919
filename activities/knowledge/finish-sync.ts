import type { SyncError, SyncInput, SyncStep } from "../../src/domain/knowledge/sync.ts";
import { recordSyncEnd, requestSync } from "../../src/services/knowledge/sync.ts";
import type { Parts } from "../../src/services/parts.ts";
import { activateIndex, listIndexes } from "../../src/stores/knowledge/indexes.ts";
import { lockKnowledgeBase } from "../../src/stores/knowledge/knowledge-bases.ts";
import { addIndexItems, findIndexGap, findUnlistedSource } from "../../src/stores/knowledge/sync-items.ts";
import { countItems } from "../../src/stores/knowledge/syncs.ts";
import { takeSyncStep, type SyncStepDeps } from "./sync-step.ts";
import { Context } from "@temporalio/activity";
import { digestId } from "../../src/domain/derived-id.ts";
import { Problem } from "../../src/domain/errors.ts";
import { firstIdOf } from "../../src/domain/uuid.ts";

/**
 * Ends a sync. A new index replaces the old one in the same transaction, but only once it holds every resource that is
 * currently searchable, so that no result is missing in between.
 */
export function createFinishSync(deps: SyncStepDeps) {
  const { db } = deps;
  return async function finishSync(input: SyncInput): Promise<SyncStep> {
    const { org_id, knowledge_base_id, sync_id } = input;
    return await takeSyncStep(deps, input, () =>
      db.orgTransaction(org_id, async (connection): Promise<SyncStep> => {
        if (!(await lockKnowledgeBase(connection, knowledge_base_id))) return "stop";
        const { open, inFlight } = await countItems(connection, sync_id);
        if (open + inFlight > 0) return "more";
        const unlisted = await findUnlistedSource(connection, sync_id);
        let error: SyncError | null = null;
        if (unlisted !== null) {
          const message = `A source could not be listed: ${unlisted.address}: ${unlisted.message}`;
          error = { code: "source_unavailable", message };
        }
        const indexes = await listIndexes(connection, knowledge_base_id);
        const building = indexes.find((index) => index.state === "building");
        if (building !== undefined) {
          const { underWay, missing } = await findIndexGap(connection, sync_id, knowledge_base_id, building.index_no);
          const untried = missing.filter((each) => !each.tried);
          await addIndexItems(connection, sync_id, untried);
          if (underWay + untried.length > 0) return "more";
          if (missing.length === 0) await activateIndex(connection, knowledge_base_id, building.index_no);
          else {
            const message = `${missing.length} documents could not be indexed with the new settings, among them ${missing[0]?.address ?? ""}. Searches still use the old index. Fix or delete these documents, then run another full sync.`;
            error = { code: "reindex_incomplete", message };
          }
        }
        await recordSyncEnd(connection, input, error === null ? "completed" : "failed", error);
        return "done";
      }),
    );
  };
}

/** Starts the sync of a schedule, once for all attempts; does nothing if a sync is running or the knowledge base is deleted. */
export function createBeginScheduledSync({ db }: Parts<"db">) {
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
