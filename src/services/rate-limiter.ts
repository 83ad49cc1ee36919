import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import { Problem } from "../domain/errors.ts";
import type { Database } from "../stores/db.ts";

interface RateLimitOptions {
  /** Distinguishes this limiter's counts from those of others in the shared table. */
  readonly name: string;
  readonly points: number;
  readonly seconds: number;
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Counts in Postgres, so that all API processes share the count and a restart does not reset it. Headers follow
 * draft-ietf-httpapi-ratelimit-headers: `RateLimit-Policy: "default";q=<points>;w=<seconds>` and `RateLimit:
 * "default";r=<left>;t=<seconds until all are back>`.
 */
export function createRateLimiter(db: Database, options: RateLimitOptions) {
  const limiter = new RateLimiterPostgres({
    storeClient: poolOver(db),
    storeType: "pool",
    tableName: "rate_limits",
    tableCreated: true,
    // Housekeeping removes old counts, because the library's timer could not be stopped.
    clearExpiredByTimeout: false,
    keyPrefix: options.name,
    points: options.points,
    duration: options.seconds,
    // A caller over the limit causes no further queries.
    inMemoryBlockOnConsumed: options.points + 1,
  });
  const headers = (left: RateLimiterRes): Record<string, string> => ({
    "RateLimit-Policy": `"${options.name}";q=${options.points};w=${options.seconds}`,
    RateLimit: `"${options.name}";r=${left.remainingPoints};t=${secondsUntil(left)}`,
  });
  const refusal = (left: RateLimiterRes): Problem =>
    new Problem(
      "rate_limited",
      `Limit of ${options.points} requests in ${options.seconds} seconds reached. Retry later.`,
      {
        headers: { ...headers(left), "Retry-After": String(Math.max(1, secondsUntil(left))) },
      },
    );
  async function consume(key: string): Promise<{ readonly left: RateLimiterRes; readonly isOver: boolean }> {
    try {
      return { left: await limiter.consume(key), isOver: false };
    } catch (error) {
      if (error instanceof RateLimiterRes) return { left: error, isOver: true };
      throw error;
    }
  }
  return {
    /** Takes one point. Returns the headers to send; throws 429 if none is left. */
    async take(key: string): Promise<Record<string, string>> {
      const { left, isOver } = await consume(key);
      if (isOver) throw refusal(left);
      return headers(left);
    },
    /** Takes one point; false if none is left. */
    tryTake: async (key: string) => !(await consume(key)).isOver,
    /** Gives one point back. */
    giveBack: async (key: string) => void (await limiter.reward(key)),
    /** Gives all points back. */
    reset: async (key: string) => void (await limiter.delete(key)),
    /** Remembers the key for the whole period without taking a point. */
    mark: async (key: string) => void (await limiter.set(key, 0, options.seconds)),
    /** Whether the key is counted or marked. */
    has: async (key: string) => (await limiter.get(key)) !== null,
  };
}

function secondsUntil(left: RateLimiterRes): number {
  return Math.ceil(left.msBeforeNext / 1000);
}

/** An object that the library accepts as a pg pool, because it only calls `query`. */
function poolOver(db: Database): unknown {
  return {
    async query({ text, values }: { text: string; values: unknown[] }) {
      // The first value of each statement is the counted key.
      const rows = await db.system((connection) => connection.query(text, values), String(values[0]));
      return { rows, rowCount: rows.length };
    },
  };
}
