import type { IngestInput } from "../../src/domain/documents/document.ts";
import type { EvaluateInput, LoadDocumentsResult } from "../../src/domain/runs/run-report.ts";

/** Short activities with documents, in the same process as the workflow. */
export interface LocalDocumentActivities {
  loadDocuments(input: EvaluateInput): Promise<LoadDocumentsResult>;
}

/** Activities that read uploaded documents. */
export interface IngestActivities {
  ingestDocument(input: IngestInput): Promise<void>;
}
