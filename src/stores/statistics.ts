import type { Db } from "./db.ts";

/** Reading a smaller table in full is as fast as using an index. */
const MIN_ROWS = 500;
/** How many times its rows at the last analysis a table must have before it is analysed again. */
const GROWTH = 4;

/**
 * Makes Postgres analyse tables that have grown several times over since the last analysis; returns their names. Autovacuum comes once a
 * minute. Until then, plans made for an empty table read everything that an import or an experiment has just written, for each of its rows.
 * System only; tables of another owner are left to autovacuum.
 */
export async function analyseGrownTables(db: Db): Promise<string[]> {
  const grown = await db.column<string>(`select c.oid::regclass::text from pg_class c
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_has_role(c.relowner, 'usage')
      and pg_stat_get_live_tuples(c.oid) >= ${MIN_ROWS} and pg_stat_get_live_tuples(c.oid) > ${GROWTH} * greatest(c.reltuples, 0)`);
  // Skips a table that is already being analysed. A regclass as text is quoted if necessary.
  for (const name of grown) await db.query(`analyze (skip_locked) ${name}`);
  return grown;
}
