/** A task that repeats until it is closed. */
export interface Periodic {
  /** Waits for the round under way and starts no other. */
  close(): Promise<void>;
}

/** Runs `round` again and again, `intervalMs` after the last one ended; a round that fails is told of and changes nothing. */
export function periodically(
  intervalMs: number,
  round: (isClosed: () => boolean) => Promise<void>,
  onError: (error: unknown) => void,
): Periodic {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  const next = (): void => {
    if (closed) return;
    timer = setTimeout(() => {
      current = round(() => closed)
        .catch(onError)
        .finally(next);
    }, intervalMs);
  };
  next();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await current;
    },
  };
}
