/** A task that repeats until it is closed. */
export interface Periodic {
  /** Another round as soon as the one under way has ended. */
  wake(): void;
  /** Waits for the round under way and starts no other. */
  close(): Promise<void>;
}

/** Short intervals are drawn out to this while rounds fail (ms). */
const MOST_BACKOFF_MS = 5000;

/**
 * Runs `round` again and again, `intervalMs` after the last one ended, or sooner when it is woken; never twice at once. A
 * round that fails is told of, and while they fail short intervals grow.
 */
export function periodically(
  intervalMs: number,
  round: (isClosed: () => boolean) => Promise<void>,
  onError: (error: unknown) => void,
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
    current = round(() => closed)
      .then(
        () => {
          failures = 0;
        },
        (error: unknown) => {
          failures += 1;
          onError(error);
        },
      )
      .finally(() => {
        current = undefined;
        const backoffMs = failures === 0 ? 0 : Math.min(MOST_BACKOFF_MS, intervalMs * 2 ** Math.min(failures, 10));
        schedule(woken && failures === 0 ? 0 : Math.max(intervalMs, backoffMs));
      });
  }
  schedule(intervalMs);

  return {
    wake() {
      if (woken || closed) return;
      woken = true;
      // Waking does not cut short what is waited after a failure.
      if (current === undefined && failures === 0) schedule(0);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await current;
    },
  };
}
