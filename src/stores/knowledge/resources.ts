import type { ResourceSource, ResourceStatus } from "../../domain/knowledge/knowledge-base.ts";
import type { Metadata } from "../../domain/knowledge/metadata.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { selectPage, type Keyset } from "../keyset.ts";

/** Why a resource could not be read or indexed. */
export interface ResourceError {
  readonly code: string;
  readonly message: string;
}

const ROW = columns(`resource_id uuid, org_id uuid, knowledge_base_id uuid, resource_path text, source text,
  source_url text null, external_id text null, status text, error jsonb null, content_hash text null,
  content_mime text null, size bigint, blob_key text null, text_blob_key text null, text_length int null, revision int,
  chunk_count int, page_count int null, user_metadata jsonb, dataloader_metadata jsonb, from_source boolean,
  etag text null, last_modified text null, created_at timestamptz, modified_at timestamptz,
  indexed_at timestamptz null`);

export interface ResourceRow extends RowOf<typeof ROW> {
  readonly source: ResourceSource;
  readonly status: ResourceStatus;
  readonly error: ResourceError | null;
  /** SHA-256, as hexadecimal digits. */
  readonly content_hash: string | null;
  /** Bytes. */
  readonly size: number;
  /** UTF-16 units. */
  readonly text_length: number | null;
  readonly user_metadata: Metadata;
  readonly dataloader_metadata: Metadata;
  /** Whether a source of the knowledge base lists it. */
  readonly from_source: boolean;
  /** The validators (`ETag`, `Last-Modified`) that its URL sent with the bytes, for conditional requests. */
  readonly etag: string | null;
}

/** What the creator of a resource gives, and what replaces it later. */
const CONTENT =
  "resource_path text, source text, source_url text, content_hash text, content_mime text, size bigint, blob_key text, user_metadata jsonb";
const REPLACED = columns(CONTENT);
const NEW = columns(`resource_id uuid, org_id uuid, knowledge_base_id uuid, from_source boolean, external_id text,
  ${CONTENT}`);

export type NewResource = Pick<ResourceRow, Exclude<NameOf<typeof NEW>, "from_source">> &
  Partial<Pick<ResourceRow, "from_source">>;

const COLUMNS = ROW.select();
const VISIBLE = "org_id = current_org() and knowledge_base_id = $1::uuid and status <> 'pending_delete'";

/**
 * Inserts a resource, `pending`; false if the id exists. Throws the unique violation of
 * `knowledge_resources_external_key`.
 */
export async function insertResource(db: Db, resource: NewResource): Promise<boolean> {
  return db.any(
    `insert into knowledge_resources ${NEW.into} on conflict (resource_id) do nothing`,
    NEW.values({ from_source: false, ...resource }),
  );
}

/**
 * Gives a resource new content: it is `pending` again with the next revision. Until that is indexed, searches find its
 * old chunks; until it is read, its own metadata stay. Its external id stays if none is given. Returns the revision;
 * null if the resource is being deleted.
 */
export async function replaceResource(db: Db, resourceId: string, resource: NewResource): Promise<number | null> {
  return db.value(
    `update knowledge_resources set revision = revision + 1, status = 'pending', error = null, external_id = coalesce($2::text, external_id),
        ${REPLACED.set(3)}, etag = null, last_modified = null, modified_at = now(), checked_at = now()
      where org_id = current_org() and resource_id = $1::uuid and status <> 'pending_delete' returning revision`,
    [resourceId, resource.external_id, ...REPLACED.values(resource)],
  );
}

/** One resource, or null if it is missing or being deleted. */
export async function findResource(db: Db, knowledgeBaseId: string, resourceId: string): Promise<ResourceRow | null> {
  return db.first(`select ${COLUMNS} from knowledge_resources where ${VISIBLE} and resource_id = $2::uuid`, [
    knowledgeBaseId,
    resourceId,
  ]);
}

export interface ResourceSearch {
  /** Resources with one of these states. */
  readonly statuses: readonly ResourceStatus[] | null;
  readonly path_prefix: string | null;
  /** Media type without parameters, which the stored type may have. */
  readonly content_mime: string | null;
  readonly external_id: string | null;
}

/** A page of a knowledge base's resources. */
export async function listResources(
  db: Db,
  knowledgeBaseId: string,
  search: ResourceSearch,
  page: Keyset,
): Promise<ResourceRow[]> {
  const select = `select ${COLUMNS} from knowledge_resources where ${VISIBLE} and ($2::text[] is null or status = any ($2))
    and ($3::text is null or starts_with(resource_path, $3)) and ($4::text is null or split_part(content_mime, ';', 1) = $4)
    and ($5::text is null or external_id = $5)`;
  return selectPage(db, page, "resource_id", select, [
    knowledgeBaseId,
    search.statuses,
    search.path_prefix,
    search.content_mime,
    search.external_id,
  ]);
}

/** The facts known once a resource's text has been extracted. */
export interface ExtractedText {
  readonly text_blob_key: string;
  /** UTF-16 units. */
  readonly text_length: number;
  readonly page_count: number | null;
  readonly dataloader_metadata: Metadata;
}

/** Records a step of indexing; false if the resource is being deleted, or `revision` is no longer the current one. */
export async function markResource(
  db: Db,
  resourceId: string,
  revision: number,
  state: { readonly status: "resource" } | ({ readonly status: "parsed" } & ExtractedText),
): Promise<boolean> {
  const text = state.status === "parsed" ? state : null;
  return db.any(
    `update knowledge_resources set status = $3::text, error = null, text_blob_key = coalesce($4::text, text_blob_key),
        text_length = coalesce($5::int, text_length), page_count = case when $4::text is null then page_count else $6::int end,
        dataloader_metadata = coalesce($7::jsonb, dataloader_metadata)
      where org_id = current_org() and resource_id = $1::uuid and revision = $2::int and status <> 'pending_delete'`,
    [
      resourceId,
      revision,
      state.status,
      text?.text_blob_key ?? null,
      text?.text_length ?? null,
      text?.page_count ?? null,
      text === null ? null : jsonb(text.dataloader_metadata),
    ],
  );
}

/** Records why a resource could not be indexed. Its old chunks stay searchable. False under the same conditions as markResource. */
export async function markResourceError(
  db: Db,
  resourceId: string,
  revision: number,
  error: ResourceError,
): Promise<boolean> {
  return db.any(
    `update knowledge_resources set status = 'error', error = $3::jsonb
      where org_id = current_org() and resource_id = $1::uuid and revision = $2::int and status <> 'pending_delete'`,
    [resourceId, revision, jsonb(error)],
  );
}

/** Marks a resource as being deleted; false if there is none. */
export async function markResourceDeleted(db: Db, knowledgeBaseId: string, resourceId: string): Promise<boolean> {
  return db.any(
    `update knowledge_resources set status = 'pending_delete', modified_at = now() where ${VISIBLE} and resource_id = $2::uuid`,
    [knowledgeBaseId, resourceId],
  );
}

/**
 * Removes a resource that is being deleted and has no chunks; returns the keys of its blobs, or null if it still has
 * chunks.
 */
export async function removeResource(db: Db, resourceId: string): Promise<string[] | null> {
  const row = await db.first<{ blob_key: string | null; text_blob_key: string | null }>(
    `delete from knowledge_resources r where r.org_id = current_org() and r.resource_id = $1::uuid and r.status = 'pending_delete'
        and not exists (select from knowledge_chunks c where c.resource_id = r.resource_id)
        and not exists (select from knowledge_index_resources x where x.resource_id = r.resource_id)
      returning blob_key, text_blob_key`,
    [resourceId],
  );
  return row === null ? null : [row.blob_key, row.text_blob_key].filter((key) => key !== null);
}

/** The resources of any organisation that have been in deletion for longest. */
export async function listDeletedResources(db: Db, limit: number): Promise<{ org_id: string; resource_id: string }[]> {
  return db.query(
    `select org_id, resource_id from knowledge_resources where status = 'pending_delete'
      order by row_number() over (partition by org_id order by modified_at) limit $1::int`,
    [limit],
  );
}
