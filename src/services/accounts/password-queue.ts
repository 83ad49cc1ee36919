import { Problem } from "../../domain/errors.ts";

export interface PasswordQueueLimits {
  /** Most concurrent tasks. */
  readonly atOnce: number;
  /** Longest queue, in total and per key. */
  readonly waiting: number;
  readonly waitingOfOne: number;
}

/** Low limits, because each scrypt hash takes 32 MiB and 200 ms of processor time. */
const LIMITS: PasswordQueueLimits = { atOnce: 2, waiting: 128, waitingOfOne: 32 };

/** Bounds the number of concurrent password hashes; further ones are queued. */
export interface PasswordQueue {
  /** Does the work when a slot is free. The queue is served round robin. Throws 429 when the queue is full. */
  take<T>(whose: string, work: () => Promise<T>): Promise<T>;
}

export function createPasswordQueue({ atOnce, waiting, waitingOfOne }: PasswordQueueLimits = LIMITS): PasswordQueue {
  const queues = new Map<string, Array<() => void>>();
  let free = atOnce;
  let queued = 0;

  function wait(whose: string): Promise<void> {
    const queue = queues.get(whose) ?? [];
    if (queued >= waiting || queue.length >= waitingOfOne) {
      throw new Problem("rate_limited", "Too many passwords are being checked at the same time. Retry shortly.", {
        headers: { "Retry-After": "2" },
      });
    }
    queued++;
    return new Promise((resolve) => {
      queue.push(resolve);
      queues.set(whose, queue);
    });
  }

  function startNext(): void {
    const [first] = queues;
    if (!first) {
      free++;
      return;
    }
    const [whose, queue] = first;
    const next = queue.shift();
    queued--;
    // Moves this key behind all other keys.
    queues.delete(whose);
    if (queue.length > 0) queues.set(whose, queue);
    next?.();
  }

  return {
    async take(whose, work) {
      if (free > 0) free--;
      else await wait(whose);
      try {
        return await work();
      } finally {
        startNext();
      }
    },
  };
}
