import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";

/** Removes expired counts; returns how many. For a purge. */
export async function purgeRateLimits(db: Db, limit: number): Promise<number> {
  return removeSome(db, "rate_limits", "key", "expire < extract(epoch from now()) * 1000", limit);
}
