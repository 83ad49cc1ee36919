import { Context } from "@temporalio/activity";
import { isMediaType } from "../../src/domain/media/media.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { IngestInput } from "../../src/domain/documents/document.ts";
import { BlobNotFound, storeValue } from "../../src/platform/blobs/blobs.ts";
import { redactSecrets } from "../../src/platform/logging/redaction.ts";
import type { Parts } from "../../src/services/parts.ts";
import { getDocument, markError, markIndexed } from "../../src/stores/documents/documents.ts";
import type { ParseDocument } from "../parse-document.ts";

export interface IngestDeps extends Parts<"db" | "blobs"> {
  readonly parse: ParseDocument;
}

/** Reads an uploaded document into its row. An unreadable document gets an error in its row and affects nothing else. */
export function createIngestDocument({ db, blobs, parse }: IngestDeps) {
  return async function ingestDocument({ org_id, file_id }: IngestInput): Promise<void> {
    const context = Context.current();
    const document = await db.org(org_id, (connection) => getDocument(connection, file_id));
    // The document was deleted meanwhile, or an attempt whose worker died has already read it.
    if (!document || document.status !== "pending") return;
    // Recordings and pictures have no text until a node has read them.
    if (isMediaType(document.mime_type)) {
      await db.org(org_id, (connection) => markIndexed(connection, file_id, { v: "" }, null));
      return;
    }
    try {
      const { text, page_count } = await parse({
        org_id,
        content: { blob: document.blob_key },
        filename: document.filename,
        declared: document.charset === null ? document.mime_type : `${document.mime_type}; charset=${document.charset}`,
        signal: context.cancellationSignal,
      });
      const stored = await storeValue(blobs, org_id, text);
      await db.org(org_id, (connection) => markIndexed(connection, file_id, stored, page_count));
    } catch (error) {
      const reason = readingFailure(error);
      if (!reason) throw error;
      await db.org(org_id, (connection) => markError(connection, file_id, reason));
    }
  };
}

/** The failure for the document's row; null for a transient error, which Temporal then retries. */
function readingFailure(error: unknown): { code: string; message: string } | null {
  if (error instanceof NodeFailure) return { code: error.code, message: redactSecrets(error.message) };
  if (error instanceof BlobNotFound)
    return { code: "document_lost", message: "The stored document no longer exists. Upload it again." };
  return null;
}
