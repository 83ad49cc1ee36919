import { EventEmitter } from "node:events";
import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Database } from "../db.ts";
import type { RunRow } from "./runs.ts";

const CHANNEL = "millrace_runs";
/** A NOTIFY payload may be 8000 bytes: at 38 bytes an id this stays below. */
const MAX_IDS = 200;
/** How long changes are gathered before one NOTIFY carries all of them. */
const GATHER_MS = 3;
/** How long another process is notified of a run it has subscribed to; it renews after half of this. */
const INTEREST_MS = 60_000;
/** Most runs that other processes can subscribe to; beyond that the oldest are dropped. */
const MAX_INTERESTS = 20_000;

/** The suffix of a run's ID in a message; `interest` says that the sender watches the run. */
const MARKS = { settled: "!", progress: "", text: "~", interest: "?" } as const;
type Mark = keyof typeof MARKS;
/** Which of two messages about a run covers both. */
const RANKS: Readonly<Record<Mark, number>> = { settled: 3, progress: 2, text: 1, interest: 0 };

/** The change of a run: terminal or paused ("settled"), any other progress, or only more of a text that a model writes. */
export type RunChange = "settled" | "progress" | "text";

/** Called when a run changes, with its row if this process has just written it. */
export type RunListener = (change: RunChange, row?: RunRow) => void;

/** Publishes changes of runs: immediately within the process, and to other processes by Postgres' NOTIFY. */
export interface RunFeed {
  changed(runId: string, change: RunChange, row?: RunRow): void;
  /**
   * Calls `onChange` at each change of the run until the returned function is called. Only a hint: it may come twice,
   * or never. `own`: the run was created for this caller, so that if this process settles it, no other process is
   * notified.
   */
  watch(runId: string, onChange: RunListener, own?: boolean): () => void;
  /**
   * Tells other processes again that this process watches the run, because they forget subscriptions after a while. Call it periodically.
   */
  stillWatching(runId: string): void;
  close(): Promise<void>;
}

/**
 * Opens the feed. The hints are not part of the runs' transactions: a NOTIFY inside them would serialise their commits
 * (Postgres takes a global lock for it). So waiters must also poll at intervals. A message is a round trip,
 * so only needed ones are sent: progress goes only to processes that watch the run, and a terminal state
 * awaited in this process is sent only if another process watches the run.
 */
export function openRunFeed(db: Database, onError: (error: Error) => void): RunFeed {
  const local = new EventEmitter().setMaxListeners(0);
  /** Identifies the process's own messages, which it also receives and ignores. */
  const sender = randomUUID();
  let gathered = new Map<string, Mark>();
  let timer: NodeJS.Timeout | undefined;
  /** Runs watched by other processes, and own subscriptions that need no new announcement yet. */
  const elsewhere = new LRUCache<string, true>({ max: MAX_INTERESTS, ttl: INTEREST_MS });
  const announced = new LRUCache<string, true>({ max: MAX_INTERESTS, ttl: INTEREST_MS / 2 });

  const send = (): void => {
    timer = undefined;
    const marked = [...gathered].map(([id, mark]) => `${id}${MARKS[mark]}`);
    gathered = new Map();
    for (let at = 0; at < marked.length; at += MAX_IDS) {
      const payload = [sender, ...marked.slice(at, at + MAX_IDS)].join(",");
      db.system((connection) => connection.query("select pg_notify($1, $2)", [CHANNEL, payload])).catch(onError);
    }
  };
  const gather = (runId: string, mark: Mark): void => {
    const known = gathered.get(runId);
    if (known === undefined || RANKS[mark] > RANKS[known]) gathered.set(runId, mark);
    timer ??= setTimeout(send, GATHER_MS);
  };
  const announce = (runId: string): void => {
    if (announced.has(runId)) return;
    announced.set(runId, true);
    gather(runId, "interest");
  };
  const receive = (message: string): void => {
    if (message.endsWith(MARKS.settled)) local.emit(message.slice(0, -1), "settled");
    else if (message.endsWith(MARKS.text)) local.emit(message.slice(0, -1), "text");
    else if (message.endsWith(MARKS.interest)) {
      const runId = message.slice(0, -1);
      elsewhere.set(runId, true);
      // The run may continue in the process that watches it, so announce the local subscription, too.
      if (local.listenerCount(runId) > 0) announce(runId);
    } else local.emit(message, "progress");
  };
  const listener = db.listen(
    CHANNEL,
    (payload) => {
      const [from, ...messages] = payload.split(",");
      if (from !== sender) for (const message of messages) receive(message);
    },
    // Hints were lost while the connection was down: every waiter checks once.
    () => {
      for (const id of local.eventNames()) local.emit(id, "settled");
    },
  );

  return {
    changed(runId, change, row) {
      const heard = local.emit(runId, change, row);
      if (elsewhere.has(runId) || (change === "settled" && !heard)) gather(runId, change);
    },
    watch(runId, onChange, own = false) {
      local.on(runId, onChange);
      if (!own) announce(runId);
      return () => local.off(runId, onChange);
    },
    stillWatching: announce,
    async close() {
      clearTimeout(timer);
      await listener.close();
    },
  };
}
