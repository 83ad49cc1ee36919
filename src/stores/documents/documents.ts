import type { DocumentStatus } from "../../domain/documents/document.ts";
import type { StoredValue } from "../../domain/json.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

/** The owner of documents: one document node of one flow, for one `<user>-<conversation>` ID, which must match exactly. */
export interface DocumentHandle {
  readonly project_id: string;
  readonly node_id: string;
  readonly user_id: string;
}

export interface DocumentError {
  readonly code: string;
  readonly message: string;
}

const ROW = columns(`file_id uuid, org_id uuid, project_id uuid, node_id text, user_id text, filename text,
  mime_type text, charset text null, size bigint, content_hash text, blob_key text, status text, error jsonb null,
  text_value jsonb null, pages int null, created_at timestamptz, indexed_at timestamptz null`);

export interface DocumentRow extends DocumentHandle, RowOf<typeof ROW> {
  /** As the upload declared it, for texts; null if it declared none. */
  readonly charset: string | null;
  /** Bytes. */
  readonly size: number;
  /** SHA-256, as hexadecimal digits. */
  readonly content_hash: string;
  readonly status: DocumentStatus;
  readonly error: DocumentError | null;
  /** The text extracted from the document. */
  readonly text_value: StoredValue | null;
}

const GIVEN = columns(`file_id uuid, org_id uuid, project_id uuid, node_id text, user_id text, filename text,
  mime_type text, size bigint, content_hash text, blob_key text, charset text`);

export type NewDocument = Pick<DocumentRow, NameOf<typeof GIVEN>>;

const COLUMNS = ROW.select();
const OF_HANDLE = "org_id = current_org() and project_id = $1::uuid and node_id = $2::text and user_id = $3::text";

/** Inserts a document that is pending extraction; false if it exists (the same upload, retried). */
export async function insertDocument(db: Db, document: NewDocument): Promise<boolean> {
  return db.any(`insert into documents ${GIVEN.into} on conflict (file_id) do nothing`, GIVEN.values(document));
}

/** How many documents of the organisation are pending extraction, counted up to `most`. */
export async function countPending(db: Db, orgId: string, most: number): Promise<number> {
  return db.number(
    `select count(*)::integer as pending from (
      select from documents where org_id = $1::uuid and status = 'pending' limit $2::integer) as waiting`,
    [orgId, most],
  );
}

/** One document, or null. */
export async function getDocument(db: Db, fileId: string): Promise<DocumentRow | null> {
  return db.first(`select ${COLUMNS} from documents where file_id = $1::uuid`, [fileId]);
}

/** A page of a user ID's documents, with one file name or with any. */
export async function listDocuments(
  db: Db,
  handle: DocumentHandle,
  filename: string | null,
  page: Keyset,
): Promise<DocumentRow[]> {
  const select = `select ${COLUMNS} from documents where ${OF_HANDLE} and ($4::text is null or filename = $4)`;
  return selectPage(db, page, "file_id", select, [handle.project_id, handle.node_id, handle.user_id, filename]);
}

/** All documents of a user ID for a run, in the order they were uploaded; at most `limit`. */
export async function documentsOfHandle(db: Db, handle: DocumentHandle, limit: number): Promise<DocumentRow[]> {
  return listDocuments(db, handle, null, { beyond: null, ascending: true, limit });
}

/** Records the text of a document. False if the document was deleted, or already has a text or an error. */
export async function markIndexed(db: Db, fileId: string, text: StoredValue, pages: number | null): Promise<boolean> {
  return db.any(
    `update documents set status = 'indexed', text_value = $2::jsonb, pages = $3::integer, error = null, indexed_at = now()
      where file_id = $1::uuid and status = 'pending'`,
    [fileId, jsonb(text), pages],
  );
}

/** Records why a document cannot be read. False if the document was deleted, or already has a text or an error. */
export async function markError(db: Db, fileId: string, error: DocumentError): Promise<boolean> {
  return db.any(
    `update documents set status = 'error', error = $2::jsonb where file_id = $1::uuid and status = 'pending'`,
    [fileId, jsonb(error)],
  );
}

export type RemovedDocument = Pick<DocumentRow, "file_id" | "blob_key" | "text_value">;

/** Deletes up to `limit` of a user ID's documents, with one file name or with any; returns the blobs to delete with them. */
export async function deleteDocuments(
  db: Db,
  handle: DocumentHandle,
  filename: string | null,
  limit: number,
): Promise<RemovedDocument[]> {
  return db.query(
    `delete from documents where file_id in (
        select file_id from documents where ${OF_HANDLE} and ($4::text is null or filename = $4) order by file_id limit $5::integer
      ) returning file_id, blob_key, text_value`,
    [handle.project_id, handle.node_id, handle.user_id, filename, limit],
  );
}

/** Deletes up to `limit` documents of a user ID in a project, of all nodes; returns the blobs to delete with them. */
export async function deleteDocumentsOfUser(
  db: Db,
  { project_id, user_id }: Pick<DocumentHandle, "project_id" | "user_id">,
  limit: number,
): Promise<RemovedDocument[]> {
  return db.query(
    `delete from documents where file_id in (
        select file_id from documents where org_id = current_org() and project_id = $1::uuid and user_id = $2::text limit $3::integer
      ) returning file_id, blob_key, text_value`,
    [project_id, user_id, limit],
  );
}

/** Blocks other uploads with the same name and user ID until the transaction ends. */
export async function lockFilename(db: Db, handle: DocumentHandle, filename: string): Promise<void> {
  await db.query("select pg_advisory_xact_lock(hashtextextended(array_to_string($1::text[], chr(1)), 0))", [
    ["document", handle.project_id, handle.node_id, handle.user_id, filename],
  ]);
}

/** Deletes the other documents with the same name and user ID, because the new one replaces them. */
export async function deleteReplaced(db: Db, newer: NewDocument): Promise<RemovedDocument[]> {
  return db.query(
    `delete from documents where ${OF_HANDLE} and filename = $4::text and file_id <> $5::uuid returning file_id, blob_key, text_value`,
    [newer.project_id, newer.node_id, newer.user_id, newer.filename, newer.file_id],
  );
}

/** Documents of all organisations that have been pending for longer than this; the sweeper starts their extraction again. */
export async function pendingDocuments(
  db: Db,
  olderThanMs: number,
  limit: number,
): Promise<Array<{ org_id: string; file_id: string }>> {
  return db.query(
    `select org_id, file_id from documents where status = 'pending'
      and created_at < now() - make_interval(secs => $1::float8 / 1000)
      order by row_number() over (partition by org_id order by created_at) limit $2::integer`,
    [olderThanMs, limit],
  );
}
