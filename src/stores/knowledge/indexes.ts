import type { IndexingParams } from "../../domain/knowledge/knowledge-base.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";

export const INDEX_STATES = ["building", "active", "retired"] as const;
export type IndexState = (typeof INDEX_STATES)[number];

const ROW = columns(`index_no int, org_id uuid, knowledge_base_id uuid, state text, params jsonb,
  embedding_model text null, dimensions int null, languages text[], chunk_count int, has_hnsw boolean`);

/** A set of chunks with their postings and embeddings, made with the same settings. */
export interface IndexRow extends RowOf<typeof ROW> {
  readonly state: IndexState;
  readonly params: IndexingParams;
}

const NEW = columns(
  `org_id uuid, knowledge_base_id uuid, state text, params jsonb, embedding_model text, dimensions int`,
);
const COLUMNS = ROW.select();

/**
 * Starts an index. A knowledge base has one active index and builds at most one: otherwise this throws the unique
 * violation of `knowledge_indexes_active_key` or `knowledge_indexes_building_key`.
 */
export async function insertIndex(
  db: Db,
  index: Pick<IndexRow, NameOf<typeof NEW>> & { readonly state: "building" | "active" },
): Promise<IndexRow> {
  return db.one(`insert into knowledge_indexes ${NEW.into} returning ${COLUMNS}`, NEW.values(index));
}

/** The active index of a knowledge base and the one being built, if there are any. */
export async function listIndexes(db: Db, knowledgeBaseId: string): Promise<IndexRow[]> {
  return db.query(
    `select ${COLUMNS} from knowledge_indexes
      where org_id = current_org() and knowledge_base_id = $1::uuid and state <> 'retired' order by index_no`,
    [knowledgeBaseId],
  );
}

/** Records the dimensions of an index's first embedding; false if it has others already. */
export async function settleDimensions(db: Db, indexNo: number, dimensions: number): Promise<boolean> {
  return db.any(
    `update knowledge_indexes set dimensions = $2::int
      where org_id = current_org() and index_no = $1::int and (dimensions is null or dimensions = $2::int)`,
    [indexNo, dimensions],
  );
}

/**
 * Activates the index being built and retires the active one; sets the resources' chunk counts to those of the new index. False if none is
 * being built. In one transaction.
 */
export async function activateIndex(db: Db, knowledgeBaseId: string, indexNo: number): Promise<boolean> {
  await db.query(
    `update knowledge_indexes set state = 'retired', version = version + 1
      where org_id = current_org() and knowledge_base_id = $1::uuid and state = 'active'
        and exists (select from knowledge_indexes b where b.index_no = $2::int and b.knowledge_base_id = $1::uuid and b.state = 'building')`,
    [knowledgeBaseId, indexNo],
  );
  const activated = await db.any(
    `update knowledge_indexes set state = 'active', version = version + 1
      where org_id = current_org() and knowledge_base_id = $1::uuid and index_no = $2::int and state = 'building' returning index_no`,
    [knowledgeBaseId, indexNo],
  );
  if (!activated) return false;
  await db.query(
    `update knowledge_resources r set chunk_count = x.chunk_count from knowledge_index_resources x
      where r.org_id = current_org() and x.org_id = current_org() and x.index_no = $1::int and r.resource_id = x.resource_id
        and r.chunk_count <> x.chunk_count`,
    [indexNo],
  );
  return true;
}

/** Drops an index that is being built. purgeKnowledge removes its rows. */
export async function retireIndex(db: Db, indexNo: number): Promise<void> {
  await db.query(
    "update knowledge_indexes set state = 'retired' where org_id = current_org() and index_no = $1::int and state = 'building'",
    [indexNo],
  );
}

/** Retires the active index. Call it in the transaction that starts the next index. */
export async function retireActiveIndex(db: Db, indexNo: number): Promise<void> {
  await db.query(
    `update knowledge_indexes set state = 'retired', version = version + 1
      where org_id = current_org() and index_no = $1::int and state = 'active'`,
    [indexNo],
  );
}

/** Retires every index of a knowledge base that has been deleted. */
export async function retireIndexes(db: Db, knowledgeBaseId: string): Promise<void> {
  await db.query(
    "update knowledge_indexes set state = 'retired', version = version + 1 where org_id = current_org() and knowledge_base_id = $1::uuid",
    [knowledgeBaseId],
  );
}
