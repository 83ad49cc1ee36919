import type { Database } from "../../stores/db.ts";
import { isConnectionError } from "../../stores/db.ts";
import type { RunFeed, RunListener } from "../../stores/runs/run-feed.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { runPositions } from "../../stores/runs/run-reads.ts";

/** How often the waiter looks by itself: hints of the feed may be lost. */
const LOOK_MS = 2000;

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Ends the wait, and only the wait: the run goes on. */
  readonly signal: AbortSignal;
  /**
   * The caller knows that there is nothing to be told yet (it has just started the run), so the first question waits for a
   * change: one query less on the busiest path. A change that was missed is found by the regular look.
   */
  readonly justStarted?: boolean;
  /** What is waited for is the run's end or pause: in between, nobody has to ask. */
  readonly untilSettled?: boolean;
}

/** Waits for something to be true of a run's record. */
export interface RunWaiter {
  /**
   * Asks `read` at once and after each change of the run until it answers something; null when the time is up. Where this
   * process has just written the change, `read` gets the row as it is since.
   * Changes that come while `read` is under way are one more question, however many they are. Rejects with the
   * signal's reason when the client has gone, and with the database's error when it was away to the very end.
   */
  until<T>(runId: string, read: (written?: RunRow) => Promise<T | null>, options: WaitOptions): Promise<T | null>;
  /** Ends every wait as if its time were up, now and from now on: the process is about to stop. */
  close(): void;
  readonly closed: boolean;
}

/** One who waits. */
interface Waiting {
  /** Where the run stood when somebody last looked. */
  seen: string | null;
  readonly wake: () => void;
}

export interface RunWaiterDeps {
  readonly db: Database;
  readonly feed: RunFeed;
  readonly lookMs?: number;
}

export function createRunWaiter({ db, feed, lookMs = LOOK_MS }: RunWaiterDeps): RunWaiter {
  const waiting = new Map<string, Set<Waiting>>();
  let looking = false;
  let closed = false;

  // One query for all who wait, instead of one each: a thousand long polls are then a thousand keys, not queries.
  async function look(): Promise<void> {
    if (looking || waiting.size === 0) return;
    looking = true;
    try {
      const positions = await db.system((client) => runPositions(client, [...waiting.keys()]));
      for (const { run_id, state, event_seq } of positions) {
        const now = `${state} ${event_seq}`;
        for (const each of waiting.get(run_id) ?? []) {
          if (each.seen !== now) each.wake();
          each.seen = now;
        }
      }
    } catch {
      // The database is away. All ask again, and find out for themselves.
      for (const group of waiting.values()) for (const each of group) each.wake();
    } finally {
      looking = false;
    }
  }
  const timer = setInterval(() => void look(), lookMs).unref();

  return {
    async until(runId, read, { timeoutMs, signal, justStarted = false, untilSettled = false }) {
      const deadline = Date.now() + timeoutMs;
      let changed = false;
      let written: RunRow | undefined;
      let asks = !justStarted;
      let resume: (() => void) | undefined;
      const me: Waiting = {
        seen: null,
        wake: () => {
          changed = true;
          resume?.();
        },
      };
      const pause = (ms: number): Promise<void> =>
        new Promise((resolve) => {
          const timeout = setTimeout(resolve, ms);
          resume = () => {
            clearTimeout(timeout);
            resolve();
          };
        });
      // Watching begins before the first question: a change in between is not lost.
      const own = justStarted && untilSettled;
      const onChange: RunListener = (change, row) => {
        if (change !== "settled" && untilSettled) return;
        written = row;
        me.wake();
      };
      const unwatch = feed.watch(runId, onChange, own);
      const group = waiting.get(runId) ?? new Set();
      waiting.set(runId, group.add(me));
      signal.addEventListener("abort", me.wake);
      try {
        for (;;) {
          signal.throwIfAborted();
          changed = false;
          const row = written;
          written = undefined;
          const answer = asks ? await ask(() => read(row), deadline) : null;
          asks = true;
          if (answer !== null) return answer;
          const left = closed ? 0 : deadline - Date.now();
          if (left <= 0) return null;
          if (!changed) await pause(left);
        }
      } finally {
        unwatch();
        group.delete(me);
        if (group.size === 0) waiting.delete(runId);
        signal.removeEventListener("abort", me.wake);
      }
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const group of waiting.values()) for (const each of group) each.wake();
    },
    get closed() {
      return closed;
    },
  };
}

/** A database that restarts does not end a wait; one that is still away at its end does. */
async function ask<T>(read: () => Promise<T | null>, deadline: number): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!isConnectionError(error) || Date.now() >= deadline) throw error;
    return null;
  }
}
