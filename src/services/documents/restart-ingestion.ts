import type { Database } from "../../stores/db.ts";
import { pendingDocuments } from "../../stores/documents/documents.ts";
import type { RunStarter } from "../../temporal/runs.ts";

/** The reading of a document is started again when it has not ended after this time (ms); where it is under way, that does nothing. */
const AGAIN_AFTER_MS = 10_000;
const BATCH = 100;

/** Starts again what a dead process left unread. `attempt` makes each start and tells whether to go on. */
export async function restartIngestion(
  { db, starter }: { readonly db: Database; readonly starter: RunStarter },
  attempt: (start: () => Promise<void>) => Promise<boolean>,
): Promise<void> {
  for (const document of await db.system((connection) => pendingDocuments(connection, AGAIN_AFTER_MS, BATCH))) {
    if (!(await attempt(() => starter.startIngest(document)))) return;
  }
}
