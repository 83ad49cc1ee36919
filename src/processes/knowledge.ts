import { createIngestActivities } from "../../activities/documents/index.ts";
import { createResourceActivities, createSyncActivities } from "../../activities/knowledge/index.ts";
import { createParseDocument } from "../../activities/parse-document.ts";
import { createDocumentParser } from "../platform/parsing/document-parser.ts";
import { openKnowledge, type Knowledge } from "../services/knowledge/open-knowledge.ts";
import type { ConnectionResolver } from "../services/providers/resolve-connection.ts";
import { VERSION } from "../version.ts";
import type { ServiceProcess } from "./open-process.ts";
import type { Runs } from "./runs.ts";

/** Opens the pool of child processes that parse documents, and a function that parses stored documents with it. */
export function openDocuments({ config, blobs, shutdown }: ServiceProcess) {
  const parser = createDocumentParser({ ocrDataDir: config.MILLRACE_OCR_DATA_DIR });
  shutdown.add("document parser", () => parser.close());
  return { parser, parse: createParseDocument({ parser, blobs }) };
}

export type Documents = ReturnType<typeof openDocuments>;

/** Opens the models for indexing and querying knowledge bases. */
export function openKnowledgeModels({ config, db, shutdown }: ServiceProcess): Knowledge {
  const knowledge = openKnowledge(config, db);
  shutdown.add("embedding models", () => knowledge.close());
  return knowledge;
}

/** The activities that read documents, index resources, and sync knowledge bases. */
export function openIndexing(
  { config, guardedFetch }: ServiceProcess,
  runs: Runs,
  { parser, parse }: Documents,
  { deps: knowledge }: Knowledge,
  connections: ConnectionResolver,
) {
  const outbound = { guardedFetch, version: VERSION, maxBytes: config.MILLRACE_UPLOAD_LIMIT_BYTES };
  return {
    ingest: {
      ...createIngestActivities({ ...runs.activities, parse }),
      ...createResourceActivities({
        ...runs.activities,
        ...outbound,
        parser,
        knowledge,
        maxAttempts: config.MILLRACE_EMBEDDINGS_ATTEMPTS,
      }),
    },
    background: createSyncActivities({
      ...runs.activities,
      ...outbound,
      connections,
      maxPages: config.MILLRACE_SYNC_MAX_PAGES,
      delayMs: config.MILLRACE_SITE_DELAY_MS,
    }),
  };
}
