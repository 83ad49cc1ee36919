import { markError } from "../../src/stores/documents/documents.ts";
import type { ActivityDeps } from "../deps.ts";
import { jobs } from "../jobs.ts";
import { createIngestDocument, type IngestDeps } from "./ingest-document.ts";
import { createLoadDocuments } from "./load-documents.ts";
import type { LocalDocumentActivities, IngestActivities } from "./types.ts";

/** The short activities with documents. */
export function createLocalDocumentActivities({ db, blobs, plans }: ActivityDeps): LocalDocumentActivities {
  return { loadDocuments: createLoadDocuments(db, blobs, plans) };
}

/** The activities that read uploaded documents. */
export function createIngestActivities(deps: IngestDeps & Pick<ActivityDeps, "onFailure">): IngestActivities {
  return jobs<IngestActivities>({ ingestDocument: createIngestDocument(deps) }, deps, {
    ingestDocument: ({ org_id, file_id }, error) =>
      deps.db.org(org_id, (connection) => markError(connection, file_id, error)),
  });
}
