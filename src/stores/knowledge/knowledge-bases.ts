import type { IndexingParams } from "../../domain/knowledge/knowledge-base.ts";
import type { SyncState } from "../../domain/knowledge/sync.ts";
import type { MetadataSchema } from "../../domain/knowledge/metadata.ts";
import { columns, type Changes, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import { selectUnapplied } from "../schedule-revisions.ts";

/** Pages of a website that a person selected. */
export interface WebsiteSource {
  readonly source_type: "sitemap" | "manual";
  readonly original_search_term: string;
  readonly selected_resources: readonly string[];
}

const ROW = columns(`knowledge_base_id uuid, org_id uuid, name text, description text, connection_id uuid null,
  connection_source_ids text[], website_sources jsonb, indexing_params jsonb, user_metadata_schema jsonb,
  dataloader_metadata_schema jsonb, schedule_cron text null, last_sync_id uuid null, last_synced_at timestamptz null,
  revision int, created_at timestamptz, updated_at timestamptz`);

export interface KnowledgeBaseRow extends RowOf<typeof ROW> {
  readonly website_sources: readonly WebsiteSource[];
  readonly indexing_params: IndexingParams;
  readonly user_metadata_schema: MetadataSchema;
  readonly dataloader_metadata_schema: MetadataSchema;
  /** Why Temporal refuses its schedule. */
  readonly schedule_error: string | null;
  /** The state of its last sync; null before the first. */
  readonly sync_state: SyncState | null;
  /** Its resources, except the ones being deleted. Sizes in bytes. */
  readonly total_files: number;
  readonly total_indexed_files: number;
  readonly total_error_files: number;
  readonly total_size: number;
  /** Whether the active index was made with other indexing_params than the current ones. */
  readonly reindex_required: boolean;
}

const CHANGEABLE = `schedule_cron text null, name text, description text, connection_id uuid null, connection_source_ids text[],
  website_sources jsonb, indexing_params jsonb, user_metadata_schema jsonb, dataloader_metadata_schema jsonb`;
const CHANGED = columns(CHANGEABLE);
const GIVEN = columns(`knowledge_base_id uuid, org_id uuid, ${CHANGEABLE}`);

export type NewKnowledgeBase = Pick<KnowledgeBaseRow, NameOf<typeof GIVEN>>;
export type KnowledgeBaseChange = Changes<Pick<KnowledgeBaseRow, NameOf<typeof CHANGED>>>;

/** The cron expression of its syncs. */
const WANTED_CRON = "(case when deleted_at is null then schedule_cron end)";
const COLUMNS = `${ROW.select("k")}, (case when k.refused_cron = k.schedule_cron then k.schedule_error end) as schedule_error`;
const TOTALS = `(select s.state from knowledge_syncs s where s.sync_id = k.last_sync_id) as sync_state,
  t.total_files, t.total_indexed_files, t.total_error_files, t.total_size,
  coalesce((select i.params is distinct from k.indexing_params from knowledge_indexes i
    where i.knowledge_base_id = k.knowledge_base_id and i.state = 'active'), false) as reindex_required`;
const WITH_TOTALS = `cross join lateral (
  select count(*) as total_files, count(*) filter (where status = 'indexed') as total_indexed_files,
    count(*) filter (where status = 'error') as total_error_files, coalesce(sum(size), 0)::bigint as total_size
  from knowledge_resources r where r.knowledge_base_id = k.knowledge_base_id and r.status <> 'pending_delete') t`;

/** Inserts a knowledge base; false if the id exists (the same request, retried). */
export async function insertKnowledgeBase(db: Db, base: NewKnowledgeBase): Promise<boolean> {
  return db.any(
    `insert into knowledge_bases ${GIVEN.into} on conflict (knowledge_base_id) do nothing`,
    GIVEN.values(base),
  );
}

/** One knowledge base, or null. */
export async function findKnowledgeBase(db: Db, knowledgeBaseId: string): Promise<KnowledgeBaseRow | null> {
  return db.first(
    `select ${COLUMNS}, ${TOTALS} from knowledge_bases k ${WITH_TOTALS}
      where k.org_id = current_org() and k.knowledge_base_id = $1::uuid and k.deleted_at is null`,
    [knowledgeBaseId],
  );
}

/** Locks a knowledge base until the transaction ends; false if there is none. */
export async function lockKnowledgeBase(db: Db, knowledgeBaseId: string): Promise<boolean> {
  return db.any(
    `select knowledge_base_id from knowledge_bases
      where org_id = current_org() and knowledge_base_id = $1::uuid and deleted_at is null for update`,
    [knowledgeBaseId],
  );
}

/** Those of these knowledge bases that exist, locked against deletion until the transaction ends. */
export async function holdKnowledgeBases(db: Db, knowledgeBaseIds: readonly string[]): Promise<string[]> {
  return db.column(
    `select knowledge_base_id from knowledge_bases
      where org_id = current_org() and knowledge_base_id = any ($1::uuid[]) and deleted_at is null
      order by knowledge_base_id for share`,
    [knowledgeBaseIds],
  );
}

/** Knowledge bases that take documents from a connection. */
export async function basesOfConnection(
  db: Db,
  connectionId: string,
  limit: number,
): Promise<{ readonly knowledge_base_id: string; readonly name: string }[]> {
  return db.query(
    `select knowledge_base_id, name from knowledge_bases
      where org_id = current_org() and connection_id = $1::uuid and deleted_at is null order by knowledge_base_id limit $2::int`,
    [connectionId, limit],
  );
}

/** A page of the organisation's knowledge bases. */
export async function listKnowledgeBases(db: Db, page: Keyset): Promise<KnowledgeBaseRow[]> {
  const { bound, compare, order } = keysetSql(page);
  return db.query(
    `select ${COLUMNS}, ${TOTALS} from (select * from knowledge_bases
      where org_id = current_org() and deleted_at is null and knowledge_base_id ${compare} $1::uuid
      order by knowledge_base_id ${order} limit $2::int) k ${WITH_TOTALS} order by k.knowledge_base_id ${order}`,
    [bound, page.limit],
  );
}

/** Changes a knowledge base if its revision is still `revision`; false if it is not, or the knowledge base does not exist. */
export async function updateKnowledgeBase(
  db: Db,
  knowledgeBaseId: string,
  revision: number,
  change: KnowledgeBaseChange,
): Promise<boolean> {
  return db.any(
    // $3 tells whether a schedule is given.
    `update knowledge_bases set ${CHANGED.patch(3)},
        applied_cron = case when $3::boolean and refused_cron is not null then null else applied_cron end,
        refused_cron = case when $3::boolean then null else refused_cron end,
        revision = revision + 1, updated_at = now()
      where org_id = current_org() and knowledge_base_id = $1::uuid and revision = $2::int and deleted_at is null`,
    [knowledgeBaseId, revision, ...CHANGED.given(change)],
  );
}

/** Deletes a knowledge base for all later requests; purgeKnowledge removes its rows. False if there is none. */
export async function markKnowledgeBaseDeleted(db: Db, knowledgeBaseId: string): Promise<boolean> {
  return db.any(
    `update knowledge_bases set deleted_at = now()
      where org_id = current_org() and knowledge_base_id = $1::uuid and deleted_at is null`,
    [knowledgeBaseId],
  );
}

/** The wanted schedule of a knowledge base, and the schedule in Temporal as far as it is known; null if there is no such row. */
export async function findSchedule(
  db: Db,
  knowledgeBaseId: string,
): Promise<{ readonly org_id: string; readonly wanted: string | null; readonly applied: string | null } | null> {
  return db.first(
    `select org_id, ${WANTED_CRON} as wanted, applied_cron as applied
      from knowledge_bases where org_id = current_org() and knowledge_base_id = $1::uuid`,
    [knowledgeBaseId],
  );
}

/** Records the schedule in Temporal; false if a different schedule has been set since. */
export async function markScheduleApplied(db: Db, knowledgeBaseId: string, cron: string | null): Promise<boolean> {
  return db.any(
    `update knowledge_bases set applied_cron = $2::text where org_id = current_org() and knowledge_base_id = $1::uuid
      and ${WANTED_CRON} is not distinct from $2::text`,
    [knowledgeBaseId, cron],
  );
}

/** Records why Temporal refuses a schedule with this expression, which is not retried until someone sets another one. */
export async function markScheduleRefused(
  db: Db,
  knowledgeBaseId: string,
  cron: string | null,
  message: string,
): Promise<void> {
  await db.query(
    `update knowledge_bases set applied_cron = $2::text, refused_cron = $2::text, schedule_error = $3::text
      where org_id = current_org() and knowledge_base_id = $1::uuid and ${WANTED_CRON} is not distinct from $2::text`,
    [knowledgeBaseId, cron, message.slice(0, 1000)],
  );
}

/** Knowledge bases whose schedule may be out of date. System only. */
export async function listUnappliedSchedules(
  db: Db,
  limit: number,
): Promise<Array<{ readonly org_id: string; readonly id: string }>> {
  const select = selectUnapplied(
    "knowledge_bases",
    "knowledge_base_id",
    `applied_cron is distinct from ${WANTED_CRON}`,
  );
  return db.query(select, [limit]);
}

/** Knowledge bases after `after` that want a schedule, by ID, except refused ones. System only. */
export async function listWantedSchedules(
  db: Db,
  after: string,
  limit: number,
): Promise<Array<{ readonly org_id: string; readonly id: string; readonly cron: string }>> {
  return db.query(
    `select org_id, knowledge_base_id as id, schedule_cron as cron from knowledge_bases
      where deleted_at is null and schedule_cron is not null and refused_cron is distinct from schedule_cron
        and knowledge_base_id > $1::uuid order by knowledge_base_id limit $2::int`,
    [after, limit],
  );
}
