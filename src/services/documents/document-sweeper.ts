import { eachRoundRobin, periodically, type Periodic } from "../../platform/periodically.ts";
import { pendingDocuments } from "../../stores/documents/documents.ts";
import type { Parts } from "../parts.ts";

/** A document that has not been read after this time is started again (ms). */
const AGAIN_AFTER_MS = 10_000;
/**
 * Most documents of one organisation that are read concurrently: as many as one worker has slots. Further documents
 * stay pending, so that they do not fill the task queue; the sweeper starts the oldest first.
 */
export const MAX_READ_AT_ONCE = 20;
/** Interval of the sweeper while documents wait (ms). */
const SOON_MS = 1000;

/**
 * Starts pending documents, and restarts the ones that a dead process left behind. It leaves documents in progress alone.
 * Any number of processes may run it.
 */
export function startDocumentSweeper(
  { db, starter }: Parts<"db" | "starter">,
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
