import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { pendingDocuments } from "../../stores/documents/documents.ts";
import type { RunStarter } from "../../temporal/runs.ts";

/** The reading of a document is started again when it has not ended after this time (ms). */
const AGAIN_AFTER_MS = 10_000;
/**
 * Documents of one organisation whose reading is under way: as many as have a place at one worker. Whoever uploads more fills no
 * task queue: the others are pending, and the sweeper starts the oldest first.
 */
export const MAX_READ_AT_ONCE = 20;
/** How soon it is looked again while so many wait (ms). */
const SOON_MS = 1000;

/** Starts what waits to be read, and again what a dead process left unread; where it is under way, that does nothing. Any number of processes may do it. */
export function startDocumentSweeper(
  { db, starter }: { readonly db: Database; readonly starter: RunStarter },
  intervalMs: number,
  onError: (error: unknown) => void,
): Periodic {
  return periodically(
    intervalMs,
    async (isClosed) => {
      const waiting = await db.system((connection) => pendingDocuments(connection, AGAIN_AFTER_MS, MAX_READ_AT_ONCE));
      await eachRoundRobin(waiting, (document) => starter.startIngest(document), { isClosed, onError });
      return waiting.length < MAX_READ_AT_ONCE ? undefined : SOON_MS;
    },
    onError,
  );
}
