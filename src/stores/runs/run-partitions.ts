import type { Db } from "../db.ts";

/** The tables that are partitioned by the time in the run's id. */
export const PARTITIONED = ["run_events", "node_runs", "agent_steps"] as const;

/**
 * Makes one partition if they do not reach weeks ahead; returns whether it did. `days`: how long the installation
 * keeps runs; null: for ever. System only.
 */
export async function makePartition(db: Db, days: number | null): Promise<boolean> {
  const rows = await db.query<{ name: string | null }>("select make_run_partition($1::int) as name", [days]);
  return typeof rows[0]?.name === "string";
}

/**
 * Removes one partition that is empty, or whose runs all ended at least `days` ago (null: they are kept for ever);
 * returns whether it did. Also false if others are using all partitions that could go: it does not wait for them.
 * System only.
 */
export async function dropPartition(db: Db, days: number | null): Promise<boolean> {
  const rows = await db.query<{ name: string | null }>("select drop_run_partition($1::int) as name", [days]);
  return typeof rows[0]?.name === "string";
}

/** The time up to which every table has partitions; undefined if one has none. System only. */
export async function partitionsEnd(db: Db): Promise<Date | undefined> {
  const rows = await db.query<{ end: string | null }>(
    `select case when count(*) = $1::int then min(until) end as end
      from (select max(run_time(upper)) as until from run_partitions() group by parent) as tables`,
    [PARTITIONED.length],
  );
  const end = rows[0]?.end;
  return typeof end === "string" ? new Date(end) : undefined;
}
