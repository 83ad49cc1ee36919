import { uuidv7 } from "uuidv7";
import { distinct } from "../../domain/distinct.ts";
import type { SyncError, SyncMode, SyncOutcome } from "../../domain/knowledge/sync.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";

/**
 * What a sync does with a document: fetch it and index changes, index the stored bytes again, or delete it. `list` marks a part of a source
 * that could not be listed.
 */
export type SyncAction = "read" | "index" | "delete" | "list";

const ROW = columns(`item_id uuid, sync_id uuid, address text, action text, source_no int null, resource_id uuid null,
  outcome text null, error jsonb null`);

export interface SyncItemRow extends RowOf<typeof ROW> {
  readonly action: SyncAction;
  readonly outcome: SyncOutcome | null;
  readonly error: SyncError | null;
}

const COLUMNS = ROW.select();

/** A page of a sync's items. */
export async function listSyncItems(
  db: Db,
  syncId: string,
  outcome: SyncOutcome | null,
  page: Keyset,
): Promise<SyncItemRow[]> {
  const select = `select ${COLUMNS} from knowledge_sync_items where org_id = current_org() and sync_id = $1::uuid
    and ($2::text is null or outcome = $2::text)`;
  return selectPage(db, page, "item_id", select, [syncId, outcome]);
}

/** Which of these addresses the sync has not listed yet, without duplicates. */
export async function unlistedAddresses(db: Db, syncId: string, addresses: readonly string[]): Promise<string[]> {
  const known = await db.column<string>(
    `select i.address from knowledge_sync_items i join unnest($2::text[]) n (address) on md5(n.address) = md5(i.address)
      where i.org_id = current_org() and i.sync_id = $1::uuid and i.action = 'read' and i.source_no is not null`,
    [syncId, addresses],
  );
  const listed = new Set(known);
  return distinct(addresses).filter((address) => !listed.has(address));
}

/** Adds documents that a source lists, except ones listed before. Returns how many were added. */
export async function addListedItems(
  db: Db,
  syncId: string,
  sourceNo: number,
  addresses: readonly string[],
): Promise<number> {
  return db.number(
    `with added as (
        insert into knowledge_sync_items (item_id, org_id, sync_id, address, action, source_no)
        select n.item_id, current_org(), $1::uuid, n.address, 'read', $2::int from unnest($3::uuid[], $4::text[]) n (item_id, address)
        on conflict (sync_id, md5(address)) where action = 'read' and source_no is not null do nothing returning item_id)
      select count(*)::int as added from added`,
    [syncId, sourceNo, addresses.map(() => uuidv7()), addresses],
  );
}

/** Adds a part of a source that could not be listed. */
export async function addListFailure(
  db: Db,
  syncId: string,
  sourceNo: number,
  { address, code, message }: SyncError & { readonly address: string },
): Promise<void> {
  await db.query(
    `insert into knowledge_sync_items (item_id, org_id, sync_id, address, action, source_no, outcome, error)
      values ($1::uuid, current_org(), $2::uuid, $3::text, 'list', $4::int, 'failed', $5::jsonb)`,
    [uuidv7(), syncId, address, sourceNo, jsonb({ code, message })],
  );
}

/** The address of a source whose listing failed before it listed anything; null if there is none. */
export async function findUnlistedSource(db: Db, syncId: string): Promise<{ address: string; message: string } | null> {
  return db.first(
    `select f.address, f.error->>'message' as message from knowledge_sync_items f
      where f.org_id = current_org() and f.sync_id = $1::uuid and f.action = 'list'
        and not exists (select from knowledge_sync_items i where i.sync_id = f.sync_id and i.source_no = f.source_no and i.action = 'read')
      order by f.item_id limit 1`,
    [syncId],
  );
}

/**
 * Adds items for resources that no source lists. URLs are read again. Resources that a source listed before are deleted if `deleteMissing`
 * is set. Other resources are indexed again in a full sync, or if their indexing failed before. A listed URL stands for its oldest
 * resource: others that a person added from the same URL get items of their own.
 */
export async function addResourceItems(
  db: Db,
  sync: {
    readonly sync_id: string;
    readonly knowledge_base_id: string;
    readonly mode: SyncMode;
    readonly deleteMissing: boolean;
  },
): Promise<void> {
  await db.query(
    `insert into knowledge_sync_items (item_id, org_id, sync_id, address, action, resource_id)
      select (left($5::text, 13) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, current_org(), $1::uuid,
        coalesce(r.source_url, r.resource_path), a.action, r.resource_id
      from knowledge_resources r cross join lateral (select case
          when r.from_source then case when $4::boolean then 'delete' when $3::text = 'full' then 'index' end
          when r.source = 'url' then 'read'
          when r.status = 'error' or ($3::text = 'full' and r.status = 'indexed') then 'index' end as action) a
      where r.org_id = current_org() and r.knowledge_base_id = $2::uuid and r.status <> 'pending_delete' and a.action is not null
        and (not exists (select from knowledge_sync_items i where i.sync_id = $1::uuid and i.source_no is not null
            and i.action = 'read' and md5(i.address) = md5(r.source_url))
          or (not r.from_source and exists (select from knowledge_resources o where o.knowledge_base_id = r.knowledge_base_id
            and md5(o.source_url) = md5(r.source_url) and o.status <> 'pending_delete' and o.resource_id < r.resource_id)))`,
    // Ids in the order of time, as everywhere.
    [sync.sync_id, sync.knowledge_base_id, sync.mode, sync.deleteMissing, uuidv7()],
  );
}

/** The next open items, in their order. */
export async function listOpenItems(db: Db, syncId: string, limit: number): Promise<SyncItemRow[]> {
  return db.query(
    `select ${COLUMNS} from knowledge_sync_items where org_id = current_org() and sync_id = $1::uuid
      and outcome is null and revision is null order by item_id limit $2::int`,
    [syncId, limit],
  );
}

/** Locks an open item until the transaction ends; false if it is no longer open. */
export async function lockOpenItem(db: Db, itemId: string): Promise<boolean> {
  return db.any(
    `select item_id from knowledge_sync_items where org_id = current_org() and item_id = $1::uuid
      and outcome is null and revision is null for update`,
    [itemId],
  );
}

/**
 * Records that an item is being indexed, and the outcome to set when indexing succeeds. Call it in the transaction that starts the
 * revision.
 */
export async function markItemIndexing(
  db: Db,
  itemId: string,
  indexing: {
    readonly resource_id: string;
    readonly revision: number;
    readonly becomes: Exclude<SyncOutcome, "deleted">;
    readonly error: SyncError | null;
  },
): Promise<void> {
  await db.query(
    `update knowledge_sync_items set resource_id = $2::uuid, revision = $3::int, becomes = $4::text, error = $5::jsonb
      where org_id = current_org() and item_id = $1::uuid and outcome is null`,
    [
      itemId,
      indexing.resource_id,
      indexing.revision,
      indexing.becomes,
      indexing.error === null ? null : jsonb(indexing.error),
    ],
  );
}

/** Records the outcome of an item unless it has one. */
export async function markItem(
  db: Db,
  itemId: string,
  outcome: SyncOutcome,
  {
    resource_id = null,
    error = null,
  }: { readonly resource_id?: string | null; readonly error?: SyncError | null } = {},
): Promise<void> {
  await db.query(
    `update knowledge_sync_items set outcome = $2::text, resource_id = coalesce($3::uuid, resource_id), error = $4::jsonb
      where org_id = current_org() and item_id = $1::uuid and outcome is null`,
    [itemId, outcome, resource_id, error === null ? null : jsonb(error)],
  );
}

/** Records that an item's resource is to be deleted. */
export async function planDelete(db: Db, itemId: string, resourceId: string): Promise<void> {
  await db.query(
    `update knowledge_sync_items set action = 'delete', resource_id = $2::uuid
      where org_id = current_org() and item_id = $1::uuid and outcome is null`,
    [itemId, resourceId],
  );
}

/** Records the outcomes of items whose indexing has finished; `deleted` if the resource was deleted meanwhile. */
export async function settleItems(db: Db, syncId: string): Promise<void> {
  await db.query(
    `update knowledge_sync_items i
      set outcome = case when r.resource_id is null then 'deleted' when r.status = 'error' then 'failed' else i.becomes end,
        error = case when r.status = 'error' then r.error else i.error end
      from knowledge_sync_items b left join knowledge_resources r on r.resource_id = b.resource_id and r.status <> 'pending_delete'
      where b.org_id = current_org() and b.sync_id = $1::uuid and b.outcome is null and b.revision is not null and i.item_id = b.item_id
        and (r.resource_id is null or r.status in ('indexed', 'error'))`,
    [syncId],
  );
}

/** Why a new index cannot replace the active one yet. */
export interface IndexGap {
  /** Number of missing resources that are still being indexed. */
  readonly underWay: number;
  /** Some resources that the active index has and the new one lacks, and whether this sync has already tried to index them. */
  readonly missing: readonly { readonly resource_id: string; readonly address: string; readonly tried: boolean }[];
}

/** Compares a new index with the active one, and locks both until the transaction ends. */
export async function findIndexGap(
  db: Db,
  syncId: string,
  knowledgeBaseId: string,
  indexNo: number,
): Promise<IndexGap> {
  await db.query(
    `select index_no from knowledge_indexes where org_id = current_org() and knowledge_base_id = $1::uuid and state <> 'retired'
      order by index_no for update`,
    [knowledgeBaseId],
  );
  const rows = await db.query<{ resource_id: string; address: string; status: string; tried: boolean }>(
    `select r.resource_id, coalesce(r.source_url, r.resource_path) as address, r.status,
        exists (select from knowledge_sync_items t where t.sync_id = $1::uuid and t.resource_id = r.resource_id and t.action = 'index'
          and t.outcome is not null) as tried
      from knowledge_resources r join knowledge_index_resources a on a.resource_id = r.resource_id
      join knowledge_indexes i on i.index_no = a.index_no and i.state = 'active'
      where r.org_id = current_org() and r.knowledge_base_id = $2::uuid and r.status <> 'pending_delete'
        and not exists (select from knowledge_index_resources b where b.index_no = $3::int and b.resource_id = r.resource_id)
      order by r.resource_id limit 1000`,
    [syncId, knowledgeBaseId, indexNo],
  );
  const isUnderWay = ({ status }: { status: string }): boolean => !["indexed", "error"].includes(status);
  return {
    underWay: rows.filter(isUnderWay).length,
    missing: rows
      .filter((row) => !isUnderWay(row))
      .map(({ resource_id, address, tried }) => ({ resource_id, address, tried })),
  };
}

const ITEM = columns("item_id uuid, address text, resource_id uuid");

/** Adds items for resources that have to be indexed again. */
export async function addIndexItems(
  db: Db,
  syncId: string,
  resources: readonly { readonly resource_id: string; readonly address: string }[],
): Promise<void> {
  await db.query(
    `insert into knowledge_sync_items (item_id, org_id, sync_id, address, action, resource_id)
      select n.item_id, current_org(), $1::uuid, n.address, 'index', n.resource_id
      from ${ITEM.unnest(2)}`,
    [syncId, ...ITEM.arrays(resources.map((each) => ({ ...each, item_id: uuidv7() })))],
  );
}
