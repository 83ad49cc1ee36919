import { EventEmitter } from "node:events";
import { randomUUID } from "node:crypto";
import type { Database } from "../db.ts";

const CHANNEL = "millrace_runs";
/** A NOTIFY payload may be 8000 bytes: at 38 bytes an id this stays below. */
const MOST_IDS = 200;
/** How long changes are gathered before one NOTIFY tells of all of them. */
const GATHER_MS = 3;
/** Behind the id of a run that has settled. */
const SETTLED = "!";

/** What has changed of a run: whether it has come to an end or a pause, or has only gone on. */
export type RunChange = "settled" | "progress";

/** Tells, within a process at once and to the others by Postgres' NOTIFY, that a run's record has changed. */
export interface RunFeed {
  changed(runId: string, change: RunChange): void;
  /** Calls `onChange` at each change of the run until the returned function is called. A hint only: it may come twice, or never. */
  watch(runId: string, onChange: (change: RunChange) => void): () => void;
  close(): Promise<void>;
}

/**
 * Opens the feed. The hints are not part of the runs' transactions: a NOTIFY inside them would serialise their commits
 * (Postgres takes a global lock for it). So who waits must also look now and then by himself.
 */
export function openRunFeed(db: Database, onError: (error: Error) => void): RunFeed {
  const local = new EventEmitter().setMaxListeners(0);
  /** Its own messages come back to a process, which knows what they say. */
  const sender = randomUUID();
  let gathered = new Map<string, RunChange>();
  let timer: NodeJS.Timeout | undefined;

  const send = (): void => {
    timer = undefined;
    const marked = [...gathered].map(([id, change]) => (change === "settled" ? `${id}${SETTLED}` : id));
    gathered = new Map();
    for (let at = 0; at < marked.length; at += MOST_IDS) {
      const payload = [sender, ...marked.slice(at, at + MOST_IDS)].join(",");
      db.system((client) =>
        client.query({ name: "notify", text: "select pg_notify($1, $2)" }, [CHANNEL, payload]),
      ).catch(onError);
    }
  };
  const listener = db.listen(
    CHANNEL,
    (payload) => {
      const [from, ...marked] = payload.split(",");
      if (from === sender) return;
      for (const each of marked) {
        if (each.endsWith(SETTLED)) local.emit(each.slice(0, -SETTLED.length), "settled");
        else local.emit(each, "progress");
      }
    },
    // While the connection was down hints were lost: everybody looks once.
    () => {
      for (const id of local.eventNames()) local.emit(id, "settled");
    },
  );

  return {
    changed(runId, change) {
      local.emit(runId, change);
      if (gathered.get(runId) !== "settled") gathered.set(runId, change);
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
