import { periodicallyEach } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { pendingDocuments } from "../../stores/documents/documents.ts";
import type { RunStarter } from "../../temporal/runs.ts";

/** The reading of a document is started again when it has not ended after this time (ms). */
const AGAIN_AFTER_MS = 10_000;
const BATCH = 100;

/** Starts again what a dead process left unread; where it is under way, that does nothing. Any number of processes may do it. */
export function startDocumentSweeper(
  { db, starter }: { readonly db: Database; readonly starter: RunStarter },
  intervalMs: number,
  onError: (error: unknown) => void,
): Periodic {
  return periodicallyEach(
    intervalMs,
    () => db.system((connection) => pendingDocuments(connection, AGAIN_AFTER_MS, BATCH)),
    (document) => starter.startIngest(document),
    onError,
  );
}
