import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

/** Removes a resource from every index: no search after the commit finds it. removeDeadChunks removes its chunks. */
export async function unpublishResource(db: Db, resourceId: string): Promise<void> {
  await db.query(
    `with removed as (
        delete from knowledge_index_resources where org_id = current_org() and resource_id = $1::uuid returning index_no, chunk_count, term_count)
      update knowledge_indexes i set version = i.version + 1, chunk_count = i.chunk_count - r.chunk_count, term_count = i.term_count - r.term_count,
        resource_count = i.resource_count - 1
      from removed r where i.org_id = current_org() and i.index_no = r.index_no`,
    [resourceId],
  );
}

/**
 * Removes a batch of a resource's unsearchable chunks, with postings and embeddings: those of revisions before the current one, and all
 * chunks of a resource that is being deleted. Returns how many; fewer than `limit` means that none is left.
 */
export async function removeDeadChunks(db: Db, resourceId: string, limit: number): Promise<number> {
  return removeChunks(
    db,
    `join knowledge_resources r using (resource_id) where c.org_id = current_org() and c.resource_id = $1::uuid
      and (r.status = 'pending_delete' or (c.revision < r.revision and not exists (select from knowledge_index_resources x
        where x.index_no = c.index_no and x.resource_id = c.resource_id and x.revision = c.revision)))
      limit $2::int`,
    [resourceId, limit],
  );
}

/** Removes a batch of the chunks of a retired index; returns how many. */
export async function removeRetiredChunks(db: Db, indexNo: number, limit: number): Promise<number> {
  return removeChunks(
    db,
    `join knowledge_indexes i using (index_no)
      where c.org_id = current_org() and i.index_no = $1::int and i.state = 'retired' limit $2::int`,
    [indexNo, limit],
  );
}

const CHUNK = columns("index_no int, chunk_no int");

/** Removes the chunks `c` that a clause selects; returns how many. */
async function removeChunks(db: Db, clause: string, values: readonly unknown[]): Promise<number> {
  const chunks = await db.query<RowOf<typeof CHUNK>>(
    `select ${CHUNK.select("c")} from knowledge_chunks c ${clause}`,
    values,
  );
  if (chunks.length === 0) return 0;
  for (const table of ["postings", "embeddings", "chunks"]) {
    await db.query(
      `delete from knowledge_${table} t using ${CHUNK.unnest(1)} where t.index_no = n.index_no and t.chunk_no = n.chunk_no`,
      CHUNK.arrays(chunks),
    );
  }
  return chunks.length;
}

/** Removes a retired index that has no chunks, with its other rows. */
export async function removeRetiredIndex(db: Db, indexNo: number): Promise<void> {
  await db.query(
    `delete from knowledge_index_resources x using knowledge_indexes i
      where x.org_id = current_org() and x.index_no = $1::int and i.index_no = x.index_no and i.state = 'retired'`,
    [indexNo],
  );
  await db.query(
    "delete from knowledge_indexes where org_id = current_org() and index_no = $1::int and state = 'retired'",
    [indexNo],
  );
}

/** Retired indexes of any organisation. */
export async function listRetiredIndexes(
  db: Db,
  limit: number,
): Promise<{ org_id: string; index_no: number; has_hnsw: boolean }[]> {
  return db.query(
    "select org_id, index_no, has_hnsw from knowledge_indexes where state = 'retired' order by index_no limit $1::int",
    [limit],
  );
}

/** Deleted knowledge bases of any organisation. */
export async function listDeletedBases(
  db: Db,
  limit: number,
): Promise<{ org_id: string; knowledge_base_id: string }[]> {
  return db.query(
    "select org_id, knowledge_base_id from knowledge_bases where deleted_at is not null order by deleted_at limit $1::int",
    [limit],
  );
}

/** Removes a deleted knowledge base once it has no resource, no index and no schedule left. */
export async function removeKnowledgeBase(db: Db, knowledgeBaseId: string): Promise<void> {
  await db.query(
    `delete from knowledge_bases k where k.org_id = current_org() and k.knowledge_base_id = $1::uuid and k.deleted_at is not null
      and k.applied_cron is null
      and not exists (select from knowledge_resources r where r.knowledge_base_id = k.knowledge_base_id)
      and not exists (select from knowledge_indexes i where i.knowledge_base_id = k.knowledge_base_id)`,
    [knowledgeBaseId],
  );
}

/** Marks the resources of a deleted knowledge base as being deleted. */
export async function markResourcesOfDeletedBase(db: Db, knowledgeBaseId: string): Promise<void> {
  await db.query(
    `update knowledge_resources r set status = 'pending_delete', modified_at = now() from knowledge_bases k
      where r.org_id = current_org() and r.knowledge_base_id = $1::uuid and k.knowledge_base_id = r.knowledge_base_id
        and k.deleted_at is not null and r.status <> 'pending_delete'`,
    [knowledgeBaseId],
  );
}
