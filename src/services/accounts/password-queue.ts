import { Problem } from "../../domain/errors.ts";
import { createLimit } from "../../platform/at-once.ts";
import { createCounts } from "../counts.ts";

/** Most concurrent tasks, and the longest queue in total and per key: low, as a scrypt hash takes 32 MiB and 200 ms. */
const LIMITS = { atOnce: 2, waiting: 128, waitingOfOne: 32 };

export type PasswordQueue = ReturnType<typeof createPasswordQueue>;

/** Bounds the number of concurrent password hashes; further ones are queued. */
export function createPasswordQueue({ atOnce, waiting, waitingOfOne } = LIMITS) {
  const limit = createLimit(atOnce);
  const queued = createCounts<string>();
  let all = 0;
  function count(whose: string, more: 1 | -1): void {
    all += more;
    queued.add(whose, more);
  }
  return {
    /** Does the work when a slot is free. The queue is served round robin. Throws 429 when the queue is full. */
    async take<T>(whose: string, work: () => Promise<T>): Promise<T> {
      if (all >= waiting || queued.of(whose) >= waitingOfOne)
        throw new Problem("rate_limited", "Too many passwords are being checked at the same time. Retry shortly.", {
          headers: { "Retry-After": "2" },
        });
      count(whose, 1);
      return limit(() => {
        count(whose, -1);
        return work();
      }, whose);
    },
  };
}
