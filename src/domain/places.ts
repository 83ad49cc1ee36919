import { createShares, type Asked } from "./shares.ts";

/** A number of slots that are shared fairly among organisations, with a queue for each. */
export interface Places {
  /**
   * Waits for a slot, which is held until the returned function is called (later calls do nothing). Throws NoPlace, or the reason of the
   * signal.
   */
  take(key: string, wanted?: Wanted): Promise<() => void>;
  /** Waits for a slot, as `take` does, and holds it while `use` runs. */
  hold<T>(key: string, wanted: Wanted, use: () => Promise<T>): Promise<T>;
  /** Gives a key no slot for this long (ms); the slots that it holds stay. */
  rest(key: string, ms: number): void;
  /** Slots in use, by one key or in total. */
  inUse(key?: string): number;
  /** How many requests wait for a slot. */
  waiting(): number;
}

/** What a slot is wanted for, and how long to wait for it. */
export interface Wanted extends Asked {
  /** Requests with a smaller number are served first; default 0. */
  readonly rank?: number;
  /** Most waiting requests with this key and rank; default unlimited. */
  readonly maxWaiting?: number;
  /** Longest wait (ms); default unlimited. */
  readonly patienceMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Thrown if too many requests are already waiting, or if no slot became free in time. */
export class NoPlace extends Error {
  override readonly name = "NoPlace";
}

interface Waiting {
  readonly asked: Asked;
  readonly grant: (release: () => void) => void;
}

/** Waiting requests of one rank, by key. */
type Lines = Map<string, Set<Waiting>>;

/**
 * Gives out slots (see createShares). A free slot goes to the smallest rank that may have one; within a rank, to the keys in turn; and
 * within a key, to the request that came first.
 */
export function createPlaces(size: number): Places {
  const shares = createShares(size);
  const ranks = new Map<number, Lines>();
  const resting = new Map<string, NodeJS.Timeout>();
  let all = 0;

  function give(key: string, asked: Asked): (() => void) | null {
    if (resting.has(key)) return null;
    const release = shares.take(key, asked);
    if (release === null) return null;
    return () => {
      release();
      serve();
    };
  }

  function serve(): void {
    for (const [, lines] of [...ranks].toSorted(([one], [other]) => one - other)) {
      for (const [key, line] of Array.from(lines)) {
        const [first] = line;
        const release = first === undefined ? null : give(key, first.asked);
        if (first === undefined || release === null) continue;
        line.delete(first);
        // Moves the key to the end, so that the rank's next slot goes to another key.
        lines.delete(key);
        if (line.size > 0) lines.set(key, line);
        first.grant(release);
      }
    }
  }

  function wait(key: string, { rank = 0, maxWaiting, patienceMs, signal, ...asked }: Wanted): Promise<() => void> {
    const lines: Lines = ranks.get(rank) ?? new Map();
    const line = lines.get(key) ?? new Set();
    if (line.size >= (maxWaiting ?? Infinity))
      return Promise.reject(new NoPlace("Too many requests are waiting already."));
    ranks.set(rank, lines);
    lines.set(key, line);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        all -= 1;
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const leave = (reason: unknown): void => {
        line.delete(mine);
        if (line.size === 0 && lines.get(key) === line) lines.delete(key);
        settle();
        reject(reason);
      };
      const onAbort = (): void => leave(signal?.reason);
      const mine: Waiting = {
        asked,
        grant(release) {
          settle();
          resolve(release);
        },
      };
      const timer =
        patienceMs === undefined
          ? undefined
          : setTimeout(() => leave(new NoPlace(`No slot became free within ${patienceMs} ms.`)), patienceMs);
      signal?.addEventListener("abort", onAbort, { once: true });
      line.add(mine);
      all += 1;
    });
  }

  async function take(key: string, wanted: Wanted = {}): Promise<() => void> {
    wanted.signal?.throwIfAborted();
    return give(key, wanted) ?? (await wait(key, wanted));
  }

  return {
    take,
    async hold(key, wanted, use) {
      const release = await take(key, wanted);
      try {
        return await use();
      } finally {
        release();
      }
    },
    rest(key, ms) {
      if (ms <= 0) return;
      clearTimeout(resting.get(key));
      const over = (): void => {
        resting.delete(key);
        serve();
      };
      resting.set(key, setTimeout(over, ms).unref());
    },
    inUse: (key) => shares.inUse(key),
    waiting: () => all,
  };
}
