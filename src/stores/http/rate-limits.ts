import type { Db } from "../db.ts";

/** Removes expired counts; returns how many. For a purge. */
export async function purgeRateLimits(db: Db, limit: number): Promise<number> {
  return db.count(
    `delete from rate_limits where key in (
      select key from rate_limits where expire < extract(epoch from now()) * 1000 limit $1::int)`,
    [limit],
  );
}
