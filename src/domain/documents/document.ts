/** The input of the workflow that ingests an uploaded document. */
export interface IngestInput {
  readonly org_id: string;
  readonly file_id: string;
}

export const DOCUMENT_STATUSES = ["pending", "indexed", "error"] as const;
export type DocumentStatus = (typeof DOCUMENT_STATUSES)[number];
