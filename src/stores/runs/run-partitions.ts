import type { Db } from "../db.ts";

/** The tables whose rows are in partitions by the time in the run's id. */
export const PARTITIONED = ["run_events", "node_runs", "agent_steps"] as const;

/**
 * Makes one partition where they do not reach weeks ahead, and answers whether it did. `days`: how long the installation keeps runs;
 * null: for ever. System only.
 */
export async function makePartition(db: Db, days: number | null): Promise<boolean> {
  const rows = await db.query<{ name: string | null }>(
    { name: "make_run_partition", text: "select make_run_partition($1::int) as name" },
    [days],
  );
  return typeof rows[0]?.name === "string";
}

/**
 * Removes one partition that is empty, or whose runs have all ended `days` ago or earlier (null: they are kept for ever), and answers
 * whether it did; false also where others are at work in all that could go: they do not wait for it. System only.
 */
export async function dropPartition(db: Db, days: number | null): Promise<boolean> {
  const rows = await db.query<{ name: string | null }>(
    { name: "drop_run_partition", text: "select drop_run_partition($1::int) as name" },
    [days],
  );
  return typeof rows[0]?.name === "string";
}

/** Until when every table has partitions; undefined where one has none. System only. */
export async function partitionsEnd(db: Db): Promise<Date | undefined> {
  const rows = await db.query<{ end: string | null }>(
    `select case when count(*) = $1::int then min(until) end as end
      from (select max(run_time(upper)) as until from run_partitions() group by parent) as tables`,
    [PARTITIONED.length],
  );
  const end = rows[0]?.end;
  return typeof end === "string" ? new Date(end) : undefined;
}
