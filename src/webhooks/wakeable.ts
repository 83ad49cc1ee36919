/** A task that repeats, sooner when it is woken. */
export interface Wakeable {
  /** Another round as soon as the one under way has ended. */
  wake(): void;
  /** Waits for the round under way and starts no other. */
  close(): Promise<void>;
}

/** Runs `round` every `pollMs`, and whenever it is woken; never twice at once. After a failure it waits a little longer each time. */
export function wakeable(
  pollMs: number,
  round: (isClosed: () => boolean) => Promise<void>,
  onError: (error: unknown) => void,
): Wakeable {
  const MOST_MS = 5000;
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
        if (failures > 0) schedule(Math.min(MOST_MS, pollMs * 2 ** Math.min(failures, 10)));
        else schedule(woken ? 0 : pollMs);
      });
  }
  schedule(0);

  return {
    wake() {
      if (woken || closed) return;
      woken = true;
      if (current === undefined && failures === 0) schedule(0);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await current;
    },
  };
}
