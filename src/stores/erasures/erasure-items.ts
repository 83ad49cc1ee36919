import type { Db } from "../db.ts";
import { LOWEST_ID } from "../keyset.ts";
import type { ErasureId } from "./erasures.ts";

type ErasureItemKind = "run" | "document" | "dataset_row" | "score" | "experiment_job";

/** Something that Temporal may have a workflow of. `open` means that the workflow still runs, and the erasure waits for it. */
interface KeptHistory {
  readonly kind: ErasureItemKind;
  readonly item_id: string;
  readonly open: boolean;
}

/** Adds items that are already erased except for their Temporal histories. */
export async function insertRemovedItems(
  db: Db,
  { erasure_id, org_id }: ErasureId,
  kind: ErasureItemKind,
  ids: readonly string[],
): Promise<void> {
  await db.query(
    `insert into erasure_items (erasure_id, org_id, kind, item_id, removed, has_history)
      select $1::uuid, $2::uuid, $3::text, id, true, true from unnest($4::uuid[]) as id on conflict do nothing`,
    [erasure_id, org_id, kind, ids],
  );
}

/** Notes executions whose histories are about to be removed. Returns how many were not noted before. */
export async function noteExecutions(
  db: Db,
  { erasure_id, org_id }: ErasureId,
  executionIds: readonly string[],
): Promise<number> {
  return db.count(
    `insert into erasure_items (erasure_id, org_id, kind, item_id, removed, has_history)
      select $1::uuid, $2::uuid, 'history', id, true, false from unnest($3::uuid[]) as id on conflict do nothing`,
    [erasure_id, org_id, executionIds],
  );
}

/** Up to `limit` items after the given one whose histories must still be removed. System only. */
export async function keptHistories(
  db: Db,
  erasureId: string,
  after: string | null,
  limit: number,
): Promise<KeptHistory[]> {
  return db.query(
    `select i.kind, i.item_id, j.job_id is not null as open
      from erasure_items i left join experiment_jobs j on i.kind = 'experiment_job' and j.job_id = i.item_id and j.finished_at is null
      where i.erasure_id = $1::uuid and i.has_history and i.item_id > $2::uuid order by i.item_id limit $3::int`,
    [erasureId, after ?? LOWEST_ID, limit],
  );
}

/** Records that Temporal no longer has a workflow of this item. */
export async function markHistoryGone(db: Db, erasureId: string, itemId: string): Promise<void> {
  await db.query("update erasure_items set has_history = false where erasure_id = $1::uuid and item_id = $2::uuid", [
    erasureId,
    itemId,
  ]);
}

/** Keys of the blobs that removed rows referred to, `limit` at most. System only. */
export async function erasedBlobs(db: Db, erasureId: string, limit: number): Promise<string[]> {
  return db.column("select key from erasure_blobs where erasure_id = $1::uuid order by key limit $2::int", [
    erasureId,
    limit,
  ]);
}

/** Deletes the records of blobs that have been removed. Returns the keys of the deleted records. System only. */
export async function forgetBlobs(db: Db, erasureId: string, keys: readonly string[]): Promise<string[]> {
  return db.column("delete from erasure_blobs where erasure_id = $1::uuid and key = any ($2::text[]) returning key", [
    erasureId,
    keys,
  ]);
}

/** The remaining records of model calls and costs of erased runs. System only. */
export async function modelCallsLeft(db: Db, { erasure_id, org_id }: ErasureId): Promise<number> {
  return db.number(
    `select count(*)::int as n from model_calls c join erasure_items i on i.item_id = c.run_id
      where i.erasure_id = $1::uuid and i.kind = 'run' and c.org_id = $2::uuid`,
    [erasure_id, org_id],
  );
}

/** The nodes in projects where the user has documents, and the projects where the user has a conversation. */
export async function placesOfUser(
  db: Db,
  userId: string,
  projectId: string | null,
): Promise<Array<{ project_id: string; node_id: string | null }>> {
  return db.query(
    `select distinct project_id, node_id from documents where org_id = current_org() and user_id = $1::text
        and ($2::uuid is null or project_id = $2)
      union all select project_id, null from conversations where org_id = current_org() and user_id = $1
        and ($2 is null or project_id = $2)`,
    [userId, projectId],
  );
}
