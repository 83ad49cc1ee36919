import type { Db } from "./db.ts";

/** Removes up to `limit` rows of a table where a condition with these parameters holds; returns how many. */
export async function removeSome(
  db: Db,
  table: string,
  key: string,
  where: string,
  limit: number,
  values: readonly unknown[] = [],
): Promise<number> {
  return db.count(
    `delete from ${table} where ${key} in (select ${key} from ${table} where ${where} limit $${values.length + 1}::int)`,
    [...values, limit],
  );
}
