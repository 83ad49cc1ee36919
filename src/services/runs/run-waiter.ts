import { isConnectionError } from "../../stores/db.ts";
import type { RunListener } from "../../stores/runs/run-feed.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { runPositions } from "../../stores/runs/run-reads.ts";
import type { Parts } from "../parts.ts";

/** How often the waiter polls, in case the feed loses notifications. */
const LOOK_MS = 2000;

export interface WatchOptions {
  /** Ends only the wait; the run continues. */
  readonly signal: AbortSignal;
  /** Wakes only when the run has finished or paused. */
  readonly untilSettled?: boolean;
  /** Also wakes when only a model's text has grown. */
  readonly texts?: boolean;
  /**
   * Set if the caller has just started the run: the first read then waits for a change, which saves a query on the
   * busiest path. The regular poll finds a missed change.
   */
  readonly justStarted?: boolean;
}

export interface WaitOptions extends WatchOptions {
  readonly timeoutMs: number;
}

/**
 * Reads from a run's record, or returns null to keep waiting. `written` is the new row if this process wrote the
 * change; `textOnly` means that only texts have changed since the last read.
 */
export type Question<T> = (written: RunRow | undefined, textOnly: boolean) => Promise<T | null>;

export type RunWaiter = ReturnType<typeof createRunWaiter>;

/** One waiting caller. */
interface Waiting {
  /** The run's position at the last poll. */
  seen: string | null;
  readonly texts: boolean;
  readonly wake: () => void;
}

export interface RunWaiterDeps extends Parts<"db" | "feed"> {
  readonly lookMs?: number;
}

/** Waits until a condition on a run's record holds. */
export function createRunWaiter({ db, feed, lookMs = LOOK_MS }: RunWaiterDeps) {
  const waiting = new Map<string, Set<Waiting>>();
  let looking = false;
  let closed = false;

  // Polls with one query for all waiters instead of one query each.
  async function look(): Promise<void> {
    if (looking || waiting.size === 0) return;
    looking = true;
    try {
      const positions = await db.system((connection) => runPositions(connection, [...waiting.keys()]));
      for (const { run_id, state, event_seq, text_id } of positions) {
        for (const each of waiting.get(run_id) ?? []) {
          const now = `${state} ${event_seq} ${each.texts ? text_id : ""}`;
          if (each.seen !== now) each.wake();
          each.seen = now;
        }
      }
    } catch {
      // If the poll fails, all waiters read again, and each handles the database's error itself.
      for (const group of waiting.values()) for (const each of group) each.wake();
    } finally {
      looking = false;
    }
  }
  const timer = setInterval(() => void look(), lookMs).unref();

  /** A watcher that waits repeatedly. */
  function watch(runId: string, { signal, untilSettled = false, texts = false, justStarted = false }: WatchOptions) {
    /** What has changed since the last read. */
    let changed: "nothing" | "texts" | "record" = justStarted ? "nothing" : "record";
    let written: RunRow | undefined;
    let resume: (() => void) | undefined;
    const me: Waiting = {
      seen: null,
      texts,
      wake: () => {
        changed = "record";
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
    const onChange: RunListener = (change, row) => {
      if (change === "text" ? !texts : change !== "settled" && untilSettled) return;
      if (change !== "text") {
        written = row;
        me.wake();
      } else if (changed === "nothing") {
        changed = "texts";
        resume?.();
      }
    };
    // Subscribes before the first read, so that no change in between is lost.
    const own = justStarted && untilSettled;
    const unwatch = feed.watch(runId, onChange, own);
    const group = waiting.get(runId) ?? new Set();
    waiting.set(runId, group.add(me));
    signal.addEventListener("abort", me.wake);
    return {
      /** Like the waiter's `until`, but later calls only read after a change since the last read. */
      async until<T>(read: Question<T>, timeoutMs: number): Promise<T | null> {
        const deadline = Date.now() + timeoutMs;
        let unanswered = false;
        if (!own) feed.stillWatching(runId);
        for (;;) {
          signal.throwIfAborted();
          if (changed !== "nothing") {
            const question = [written, changed === "texts"] as const;
            changed = "nothing";
            written = undefined;
            const answer = await ask(() => read(...question), deadline);
            if (answer.value !== null) return answer.value;
            unanswered = answer.failed;
          }
          const left = closed ? 0 : deadline - Date.now();
          if (left <= 0) return null;
          if (changed === "nothing") await pause(unanswered ? Math.min(left, lookMs) : left);
          if (unanswered) me.wake();
          unanswered = false;
        }
      },
      /** Makes the next call of `until` read immediately. */
      again: me.wake,
      close(): void {
        unwatch();
        group.delete(me);
        if (group.size === 0 && waiting.get(runId) === group) waiting.delete(runId);
        signal.removeEventListener("abort", me.wake);
      },
    };
  }

  return {
    watch,
    /**
     * Calls `read` immediately and after each change of the run until it returns a value; null on timeout. Any number of
     * changes during a call of `read` causes one more call. Rejects with the signal's reason if the client has
     * disconnected, and with the database's error if it was still unreachable at the deadline.
     */
    async until<T>(runId: string, read: Question<T>, { timeoutMs, ...options }: WaitOptions): Promise<T | null> {
      const mine = watch(runId, options);
      try {
        return await mine.until(read, timeoutMs);
      } finally {
        mine.close();
      }
    },
    /** Ends all current and future waits as if they timed out, because the process is about to stop. */
    close(): void {
      closed = true;
      clearInterval(timer);
      for (const group of waiting.values()) for (const each of group) each.wake();
    },
    get closed(): boolean {
      return closed;
    },
  };
}

/**
 * Reads again after connection errors, so that a restart of the database does not end a wait; throws if it is still
 * unreachable at the deadline.
 */
async function ask<T>(
  read: () => Promise<T | null>,
  deadline: number,
): Promise<{ readonly value: T | null; readonly failed: boolean }> {
  try {
    return { value: await read(), failed: false };
  } catch (error) {
    if (!isConnectionError(error) || Date.now() >= deadline) throw error;
    return { value: null, failed: true };
  }
}
