/** Limits the share of a process's time that reads and jobs of one key take while other keys use the process. */
export interface Pace {
  /** Notes that a key uses the process. */
  used(key: string): void;
  /**
   * Notes a read or a step of a job that took this long (ms). Returns how long the key's next one must wait (ms), at most `longestMs`;
   * default two seconds.
   */
  restAfter(key: string, tookMs: number, longestMs?: number): number;
}

/** The share of a process's time in which it reads for one key. Measured by bench/neighbours-main.ts. */
const SHARE = 1 / 4;
/** How far a key may be ahead of its share without a rest (ms), so that a page with several statistics takes no longer. */
const AHEAD_MS = 4000;
/** Longest rest (ms). A statement may have waited for a lock, and requests in the queue wait for the rest. */
const MAX_REST_MS = 2000;
/** How long after its last use another key counts as using the process (ms). */
const USES_FOR_MS = 60_000;

export function createPace(): Pace {
  let latest = { key: "", at: -Infinity };
  /** When a key other than the latest one last used the process. */
  let otherAt = -Infinity;
  /** When a key has waited long enough for the reads so far, by key. */
  const paidAt = new Map<string, number>();

  return {
    used(key) {
      if (key !== latest.key) otherAt = latest.at;
      latest = { key, at: performance.now() };
    },
    restAfter(key, tookMs, longestMs = MAX_REST_MS) {
      const now = performance.now();
      for (const [each, at] of paidAt) if (at <= now) paidAt.delete(each);
      if ((key === latest.key ? otherAt : latest.at) < now - USES_FOR_MS) return 0;
      const due = Math.max(now - tookMs, paidAt.get(key) ?? 0) + tookMs / SHARE;
      const paid = Math.min(due, now + AHEAD_MS + longestMs);
      paidAt.set(key, paid);
      return Math.max(0, paid - AHEAD_MS - now);
    },
  };
}
