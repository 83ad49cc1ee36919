import type { Database } from "../../stores/db.ts";
import { getDocument } from "../../stores/documents/documents.ts";

/** The reader of an upload: only runs of the same flow and user ID may use it. */
export interface UploadReader {
  readonly org_id: string;
  readonly project_id: string;
  readonly user_id: string | null;
  /** The node it was uploaded to; undefined: any node of the flow. */
  readonly node_id?: string;
}

/** The error message if the upload is not found. */
export function noUpload(fileId: string, { node_id }: Pick<UploadReader, "node_id">): string {
  const where = node_id === undefined ? "this flow" : `node ${node_id} of this flow`;
  return `File ${fileId} was not uploaded to ${where} under this run's user_id`;
}

/** An upload that the reader may use; null if there is none. */
export async function findUpload(
  db: Database,
  fileId: string,
  { org_id, project_id, user_id, node_id }: UploadReader,
): Promise<{ readonly blob_key: string; readonly size: number } | null> {
  const file = await db.org(org_id, (connection) => getDocument(connection, fileId));
  if (file?.project_id !== project_id || file.user_id !== user_id) return null;
  return node_id === undefined || file.node_id === node_id ? file : null;
}
