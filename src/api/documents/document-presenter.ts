import { z } from "zod";
import { DOCUMENT_STATUSES } from "../../domain/documents/document.ts";
import type { DocumentRow } from "../../stores/documents/documents.ts";
import { asDeclared } from "../http/as-declared.ts";

/** An uploaded document as the upload returns it. */
export const uploadedDocumentSchema = z
  .object({
    file_id: z.uuid(),
    filename: z.string(),
    size: z.int().describe("Size in bytes."),
    content_hash: z.string().describe("SHA-256 of the content, in hexadecimal digits."),
    mime_type: z.string().describe("Type of the content, whatever type the upload declared."),
    org: z.uuid(),
    user_id: z.string(),
    flow_id: z.uuid(),
    node_id: z.string(),
    status: z.enum(DOCUMENT_STATUSES).describe("`pending` until its text has been extracted."),
  })
  .meta({ id: "UploadedDocument" });
export type UploadedDocumentView = z.infer<typeof uploadedDocumentSchema>;

export const documentSchema = uploadedDocumentSchema
  .extend({
    error: z
      .object({ code: z.string(), message: z.string() })
      .nullable()
      .describe("Why its text could not be extracted."),
    pages: z.int().nullable(),
    created_at: z.iso.datetime(),
    indexed_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Document" });
export type DocumentView = z.infer<typeof documentSchema>;

type Presentable = Omit<DocumentRow, "blob_key" | "text_value" | "error" | "pages" | "created_at" | "indexed_at">;

export function presentUploadedDocument(document: Presentable): UploadedDocumentView {
  return asDeclared(uploadedDocumentSchema, { ...document, org: document.org_id, flow_id: document.project_id });
}

export function presentDocument(document: DocumentRow): DocumentView {
  return asDeclared(documentSchema, { ...document, ...presentUploadedDocument(document) });
}
