import { roundRobin } from "../domain/shares.ts";

/** A task that repeats until it is closed. */
export interface Periodic {
  /** Starts another round as soon as the current one has finished. */
  wake(): void;
  /** Waits for the current round and starts no more. */
  close(): Promise<void>;
}

/** While rounds fail, short intervals are extended to this (ms). */
const MAX_BACKOFF_MS = 5000;

export interface PeriodicOptions {
  /** Time from a wake to the next round (ms), during which further wakes are merged. Default 0. */
  readonly spacingMs?: number;
}

/**
 * Runs `round` repeatedly, `intervalMs` after the last one finished, or sooner if it is woken or a round returns an earlier due time (ms
 * from then); never two rounds at the same time. Failures go to `onError`, and short intervals back off while rounds fail.
 */
export function periodically(
  intervalMs: number,
  round: (isClosed: () => boolean) => Promise<number | void>,
  onError: (error: unknown) => void,
  { spacingMs = 0 }: PeriodicOptions = {},
): Periodic {
  let closed = false;
  let woken = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> | undefined;

  function schedule(ms: number): void {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(begin, ms);
  }
  function begin(): void {
    woken = false;
    let nextMs = intervalMs;
    current = round(() => closed)
      .then(
        (due) => {
          failures = 0;
          nextMs = Math.max(spacingMs, Math.min(intervalMs, due ?? intervalMs));
        },
        (error: unknown) => {
          failures += 1;
          onError(error);
        },
      )
      .finally(() => {
        current = undefined;
        const backoffMs = failures === 0 ? 0 : Math.min(MAX_BACKOFF_MS, intervalMs * 2 ** Math.min(failures, 10));
        schedule(woken && failures === 0 ? spacingMs : Math.max(nextMs, backoffMs));
      });
  }
  schedule(intervalMs);

  return {
    wake() {
      if (woken || closed) return;
      woken = true;
      // Waking does not shorten the backoff after a failure.
      if (current === undefined && failures === 0) schedule(spacingMs);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await current;
    },
  };
}

/** Runs a task immediately, and again `againMs` after each failure, until it has succeeded once or is closed. */
export function untilDone(
  againMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Pick<Periodic, "close"> {
  const periodic = periodically(
    againMs,
    async () => {
      await work();
      // Not awaited, because `close` waits for this round.
      void periodic.close();
    },
    onError,
  );
  periodic.wake();
  return periodic;
}

/** The organisation that the work is done for, if any. */
function organisationOf(item: unknown): string {
  return (item as { readonly org_id?: string } | null)?.org_id ?? "";
}

/** Consecutive failures that end a round, because something that all items need is unavailable. */
const MAX_FAILURES = 3;

/**
 * Handles items one by one, round robin by organisation. A failure goes to `onError` and does not stop the others; the last of several
 * in a row is thrown.
 */
export async function eachRoundRobin<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  { isClosed, onError }: { readonly isClosed: () => boolean; readonly onError: (error: unknown, item: T) => void },
): Promise<void> {
  let failures = 0;
  for (const item of roundRobin(items, organisationOf)) {
    if (isClosed()) return;
    try {
      await work(item);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures === MAX_FAILURES) throw error;
      onError(error, item);
    }
  }
}
