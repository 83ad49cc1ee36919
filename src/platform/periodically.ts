/** A task that repeats until it is closed. */
export interface Periodic {
  /** Starts another round as soon as the current one has finished. */
  wake(): void;
  /** Waits for the current round and starts no other. */
  close(): Promise<void>;
}

/** Short intervals are extended to this while rounds fail (ms). */
const MAX_BACKOFF_MS = 5000;

export interface PeriodicOptions {
  /** Time from being woken to the next round (ms), in which further wakes gather. Default 0. */
  readonly spacingMs?: number;
}

/**
 * Runs `round` repeatedly, `intervalMs` after the last one finished, or sooner when it is woken or a round returns that
 * the next is due earlier (ms from then); never twice at once. Failures go to `onError`, and while rounds fail short
 * intervals back off.
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
