import { EventEmitter } from "node:events";
import type { Database } from "./db.ts";

const CHANNEL = "millrace_runs";
/** A NOTIFY payload may be 8000 bytes: at 37 bytes an id this stays below. */
const MOST_IDS = 200;
/** How long changes are gathered before one NOTIFY tells of all of them. */
const GATHER_MS = 3;

/** Tells, within a process at once and to the others by Postgres' NOTIFY, that a run's record has changed. */
export interface RunFeed {
  changed(runId: string): void;
  /** Calls `onChange` at each change of the run until the returned function is called. A hint only: it may come twice, or never. */
  watch(runId: string, onChange: () => void): () => void;
  close(): Promise<void>;
}

/**
 * Opens the feed. The hints are not part of the runs' transactions: a NOTIFY inside them would serialise their commits
 * (Postgres takes a global lock for it). So who waits must also look now and then by himself.
 */
export function openRunFeed(db: Database, onError: (error: Error) => void): RunFeed {
  const local = new EventEmitter().setMaxListeners(0);
  let gathered = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const send = (): void => {
    timer = undefined;
    const ids = [...gathered];
    gathered = new Set();
    for (let at = 0; at < ids.length; at += MOST_IDS) {
      const payload = ids.slice(at, at + MOST_IDS).join(",");
      db.system((client) =>
        client.query({ name: "notify", text: "select pg_notify($1, $2)" }, [CHANNEL, payload]),
      ).catch(onError);
    }
  };
  const listener = db.listen(
    CHANNEL,
    (payload) => {
      for (const id of payload.split(",")) local.emit(id);
    },
    // While the connection was down hints were lost: everybody looks once.
    () => {
      for (const id of local.eventNames()) local.emit(id);
    },
  );

  return {
    changed(runId) {
      local.emit(runId);
      gathered.add(runId);
      timer ??= setTimeout(send, GATHER_MS);
    },
    watch(runId, onChange) {
      local.on(runId, onChange);
      return () => local.off(runId, onChange);
    },
    async close() {
      clearTimeout(timer);
      await listener.close();
    },
  };
}
