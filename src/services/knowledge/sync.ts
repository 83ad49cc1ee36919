import { Problem, notFound, required } from "../../domain/errors.ts";
import { syncEvent, type SyncError, type SyncInput } from "../../domain/knowledge/sync.ts";
import type { Database, Db } from "../../stores/db.ts";
import { listIndexes, retireIndex } from "../../stores/knowledge/indexes.ts";
import { lockKnowledgeBase } from "../../stores/knowledge/knowledge-bases.ts";
import { insertEvent } from "../../stores/outbox.ts";
import {
  endSync,
  findActiveSync,
  findSync,
  insertSync,
  requestSyncCancel,
  type SyncRow,
} from "../../stores/knowledge/syncs.ts";
import { wantStarts } from "../../stores/starts/workflow-starts.ts";
import type { Starts } from "../../temporal/starts.ts";

/**
 * Starts a sync of a knowledge base; a retry of the request returns the same sync. Throws 404, and 409
 * `sync_in_progress` if another one is running.
 */
export async function requestSync(
  db: Database,
  sync: SyncInput & Pick<SyncRow, "mode" | "delete_missing" | "trigger">,
): Promise<void> {
  const { org_id, knowledge_base_id, sync_id } = sync;
  await db.orgTransaction(org_id, async (connection) => {
    if (!(await lockKnowledgeBase(connection, knowledge_base_id))) throw notFound("knowledge base");
    if (await insertSync(connection, sync))
      return wantStarts(connection, "sync", [{ org_id, knowledge_base_id, sync_id }]);
    if ((await findSync(connection, knowledge_base_id, sync_id)) !== null) return;
    const active = await findActiveSync(connection, knowledge_base_id);
    const detail = `Sync ${active?.sync_id ?? ""} of this knowledge base is running: wait for it, or cancel it.`;
    throw new Problem("sync_in_progress", detail, { extra: { sync_id: active?.sync_id ?? null } });
  });
}

/** Asks a sync to stop, which takes seconds. Throws 404, and 409 if it has finished without being cancelled. */
export async function cancelSync(
  db: Database,
  orgId: string,
  knowledgeBaseId: string,
  syncId: string,
): Promise<SyncRow> {
  return await db.org(orgId, async (connection) => {
    const isActive = await requestSyncCancel(connection, syncId);
    const sync = required(await findSync(connection, knowledgeBaseId, syncId), "sync");
    if (!isActive && sync.state !== "cancelled") {
      throw new Problem("sync_already_finished", `The sync is already finished: ${sync.state}.`, {
        extra: { state: sync.state },
      });
    }
    return sync;
  });
}

/**
 * Ends a sync with its event, and drops the index it was building; false if it has already finished. Call it in a
 * transaction.
 */
export async function recordSyncEnd(
  db: Db,
  { knowledge_base_id, sync_id }: Pick<SyncInput, "knowledge_base_id" | "sync_id">,
  state: "completed" | "failed" | "cancelled",
  error: SyncError | null,
): Promise<boolean> {
  const ended = await endSync(db, sync_id, state, error);
  if (ended === null) return false;
  for (const index of await listIndexes(db, knowledge_base_id)) {
    if (index.state === "building") await retireIndex(db, index.index_no);
  }
  if (state !== "cancelled") await insertEvent(db, syncEvent(ended, state, ended, error));
  return true;
}

/** Starts the workflow of a sync, or finalises the sync if its workflow was ended from outside. */
export async function startSync(
  db: Database,
  starts: Pick<Starts, "sync" | "lookAtSync">,
  input: SyncInput,
): Promise<void> {
  const view = await starts.lookAtSync(input.sync_id);
  if (view === "running") return;
  // Starting again is harmless after a completed workflow: the sync has finished, or its knowledge base is deleted.
  if (view === "not_found" || view === "completed") return starts.sync(input);
  const message = `The sync's workflow was ended outside Millrace (${view}).`;
  const error = { code: `workflow_${view}`, message };
  const state = view === "cancelled" ? "cancelled" : "failed";
  await db.orgTransaction(input.org_id, (connection) => recordSyncEnd(connection, input, state, error));
}
