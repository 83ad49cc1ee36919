import type { SyncCounts, SyncError, SyncInput, SyncMode, SyncState } from "../../domain/knowledge/sync.ts";
import type { Json } from "../../domain/json.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";
import type { KnowledgeBaseRow } from "./knowledge-bases.ts";

export interface SyncItemError extends SyncError {
  readonly address: string;
  readonly resource_id: string | null;
}

const ROW = columns(`sync_id uuid, org_id uuid, knowledge_base_id uuid, mode text, delete_missing boolean, trigger text,
  state text, error jsonb null, added int, updated int, deleted int, unchanged int, failed int, total int,
  cancel_requested_at timestamptz null, created_at timestamptz, started_at timestamptz null,
  finished_at timestamptz null`);

export interface SyncRow extends SyncInput, SyncCounts, RowOf<typeof ROW> {
  readonly mode: SyncMode;
  readonly trigger: "request" | "schedule";
  readonly state: SyncState;
  readonly error: SyncError | null;
  /** How many documents the sync has to process, as far as known. */
  readonly total: number;
}

/** The position up to which the sources were listed. */
export type SyncPosition = { readonly source_no: number; readonly at: Json } | { readonly done: true };

/** Most errors of items that the response for a sync lists. */
const SHOWN_ERRORS = 100;
/** How many syncs of a knowledge base keep their items. */
const KEPT = 5;

const COLUMNS = ROW.select("s");
const ACTIVE = "s.state in ('pending', 'running')";

/** What a sync reads: the sources that its knowledge base `k` had when it was requested. */
export type SyncSources = Pick<KnowledgeBaseRow, "website_sources" | "connection_id" | "connection_source_ids">;
const SOURCES_OF_BASE = `jsonb_build_object('website_sources', k.website_sources, 'connection_id', k.connection_id,
  'connection_source_ids', k.connection_source_ids)`;

/**
 * Inserts a sync, `pending`; false if another one of the knowledge base is running. In a transaction that has locked
 * the knowledge base.
 */
export async function insertSync(
  db: Db,
  sync: SyncInput & Pick<SyncRow, "mode" | "delete_missing" | "trigger">,
): Promise<boolean> {
  const inserted = await db.any(
    `with inserted as (
        insert into knowledge_syncs (sync_id, org_id, knowledge_base_id, mode, delete_missing, trigger, sources)
        select $1::uuid, $2::uuid, $3::uuid, $4::text, $5::boolean, $6::text, ${SOURCES_OF_BASE}
        from knowledge_bases k where k.org_id = current_org() and k.knowledge_base_id = $3::uuid
          and not exists (select from knowledge_syncs s where s.org_id = current_org() and s.knowledge_base_id = $3::uuid and ${ACTIVE})
        on conflict do nothing returning sync_id)
      update knowledge_bases k set last_sync_id = inserted.sync_id from inserted
      where k.org_id = current_org() and k.knowledge_base_id = $3::uuid returning k.knowledge_base_id`,
    [sync.sync_id, sync.org_id, sync.knowledge_base_id, sync.mode, sync.delete_missing, sync.trigger],
  );
  if (!inserted) return false;
  await db.query(
    `delete from knowledge_sync_items where org_id = current_org() and sync_id in (
      select sync_id from knowledge_syncs where org_id = current_org() and knowledge_base_id = $1::uuid
      order by sync_id desc offset ${KEPT})`,
    [sync.knowledge_base_id],
  );
  return true;
}

/** One sync, or null. */
export async function findSync(db: Db, knowledgeBaseId: string, syncId: string): Promise<SyncRow | null> {
  return db.first(
    `select ${COLUMNS} from knowledge_syncs s where s.org_id = current_org() and s.knowledge_base_id = $1::uuid and s.sync_id = $2::uuid`,
    [knowledgeBaseId, syncId],
  );
}

/** The unfinished sync of a knowledge base, or null. */
export async function findActiveSync(db: Db, knowledgeBaseId: string): Promise<SyncRow | null> {
  return db.first(
    `select ${COLUMNS} from knowledge_syncs s where s.org_id = current_org() and s.knowledge_base_id = $1::uuid and ${ACTIVE}`,
    [knowledgeBaseId],
  );
}

/** A page of a knowledge base's syncs. */
export async function listSyncs(
  db: Db,
  knowledgeBaseId: string,
  state: SyncState | null,
  page: Keyset,
): Promise<SyncRow[]> {
  const select = `select ${COLUMNS} from knowledge_syncs s where s.org_id = current_org() and s.knowledge_base_id = $1::uuid
    and ($2::text is null or s.state = $2::text)`;
  return selectPage(db, page, "s.sync_id", select, [knowledgeBaseId, state]);
}

/** The first errors of a sync's items. */
export async function listSyncErrors(db: Db, syncId: string): Promise<SyncItemError[]> {
  return db.query(
    `select address, resource_id, error->>'code' as code, error->>'message' as message from knowledge_sync_items
      where org_id = current_org() and sync_id = $1::uuid and outcome = 'failed' order by item_id limit ${SHOWN_ERRORS}`,
    [syncId],
  );
}

/** Asks a sync to stop; false if it has already finished. */
export async function requestSyncCancel(db: Db, syncId: string): Promise<boolean> {
  return db.any(
    `update knowledge_syncs s set cancel_requested_at = coalesce(s.cancel_requested_at, now())
      where s.org_id = current_org() and s.sync_id = $1::uuid and ${ACTIVE} returning s.sync_id`,
    [syncId],
  );
}

export interface SyncWork extends SyncRow {
  readonly position: SyncPosition | null;
  readonly listing_incomplete: boolean;
}

/** Returns an unfinished sync of an existing knowledge base, and records that a process works on it; otherwise null. */
export async function findSyncToWorkOn(db: Db, syncId: string): Promise<SyncWork | null> {
  return db.first(
    `update knowledge_syncs s set checked_at = now() from knowledge_bases k
      where s.org_id = current_org() and s.sync_id = $1::uuid and ${ACTIVE} and k.knowledge_base_id = s.knowledge_base_id and k.deleted_at is null
      returning ${COLUMNS}, s.position, s.listing_incomplete`,
    [syncId],
  );
}

/** The sources that a sync reads; null if the sync or its knowledge base is deleted. */
export async function sourcesOfSync(db: Db, syncId: string): Promise<SyncSources | null> {
  return db.value(
    `select coalesce(s.sources, ${SOURCES_OF_BASE}) as sources from knowledge_syncs s join knowledge_bases k using (knowledge_base_id)
      where s.org_id = current_org() and s.sync_id = $1::uuid and k.deleted_at is null`,
    [syncId],
  );
}

/** Marks a pending sync as running; false if it was not pending. */
export async function beginSync(db: Db, syncId: string): Promise<boolean> {
  return db.any(
    `update knowledge_syncs set state = 'running', started_at = now()
      where org_id = current_org() and sync_id = $1::uuid and state = 'pending'`,
    [syncId],
  );
}

/** Moves the position of the listing; false if another process has moved it. */
export async function moveSync(
  db: Db,
  syncId: string,
  from: SyncPosition | null,
  to: SyncPosition,
  isIncomplete: boolean,
): Promise<boolean> {
  return db.any(
    `update knowledge_syncs set position = $3::jsonb, listing_incomplete = listing_incomplete or $4::boolean
      where org_id = current_org() and sync_id = $1::uuid and state = 'running' and position is not distinct from $2::jsonb`,
    [syncId, from === null ? null : jsonb(from), jsonb(to), isIncomplete],
  );
}

/** Whether unlisted resources may be deleted. If the listing of a part failed, no resource is known to be missing. */
export async function mayDeleteMissing(db: Db, syncId: string): Promise<boolean> {
  return db.holds(
    `select delete_missing and not listing_incomplete as may from knowledge_syncs
      where org_id = current_org() and sync_id = $1::uuid`,
    [syncId],
  );
}

/** Updates the counts of a sync, and returns the remaining items: open ones, and those being indexed. */
export async function countItems(
  db: Db,
  syncId: string,
): Promise<{ readonly open: number; readonly inFlight: number }> {
  return db.one(
    `with counted as (
        select count(*) filter (where outcome = 'added')::int as added, count(*) filter (where outcome = 'updated')::int as updated,
          count(*) filter (where outcome = 'deleted')::int as deleted, count(*) filter (where outcome = 'unchanged')::int as unchanged,
          count(*) filter (where outcome = 'failed')::int as failed, count(*)::int as total,
          count(*) filter (where outcome is null and revision is null)::int as open,
          count(*) filter (where outcome is null and revision is not null)::int as "inFlight"
        from knowledge_sync_items where org_id = current_org() and sync_id = $1::uuid),
      written as (
        update knowledge_syncs s set added = c.added, updated = c.updated, deleted = c.deleted, unchanged = c.unchanged, failed = c.failed, total = c.total
        from counted c where s.org_id = current_org() and s.sync_id = $1::uuid)
      select open, "inFlight" from counted`,
    [syncId],
  );
}

/**
 * Finishes an unfinished sync; null if it has already finished. A completed sync that was not a dry run becomes the knowledge base's last
 * one.
 */
export async function endSync(
  db: Db,
  syncId: string,
  state: "completed" | "failed" | "cancelled",
  error: SyncError | null,
): Promise<SyncRow | null> {
  await countItems(db, syncId);
  const ended = await db.first<SyncRow>(
    `update knowledge_syncs s set state = $2::text, error = $3::jsonb, sources = null, finished_at = now(), started_at = coalesce(started_at, now())
      where s.org_id = current_org() and s.sync_id = $1::uuid and ${ACTIVE} returning ${COLUMNS}`,
    [syncId, state, error === null ? null : jsonb(error)],
  );
  if (ended !== null && state === "completed" && ended.mode !== "dry_run") {
    await db.query(
      "update knowledge_bases set last_synced_at = now() where org_id = current_org() and knowledge_base_id = $1::uuid",
      [ended.knowledge_base_id],
    );
  }
  return ended;
}
