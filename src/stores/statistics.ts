import type { Db } from "./db.ts";

/** Smaller tables are read whole as fast as through an index. */
const MIN_ROWS = 500;
/** How many times as many rows a table has as when it was last analysed. */
const GROWTH = 4;

/**
 * Has Postgres analyse tables that have grown several times over since it last did; returns their names. Its own look
 * around comes once a minute: until then, plans made while a table was empty read all of what an import or an experiment
 * has just written, for each of its rows. System only; tables of another owner are left to that look.
 */
export async function analyseGrownTables(db: Db): Promise<string[]> {
  const grown = await db.query<{ name: string }>({
    name: "grown_tables",
    text: `select c.oid::regclass::text as name from pg_class c
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_has_role(c.relowner, 'usage')
        and pg_stat_get_live_tuples(c.oid) >= ${MIN_ROWS} and pg_stat_get_live_tuples(c.oid) > ${GROWTH} * greatest(c.reltuples, 0)`,
  });
  // One that is being analysed already is skipped. A regclass as text is quoted where it must be.
  for (const { name } of grown) await db.query(`analyze (skip_locked) ${name}`);
  return grown.map(({ name }) => name);
}
