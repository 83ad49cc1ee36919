import type { Db } from "../db.ts";

/** The tables that are partitioned by the time in the run's id. */
export const PARTITIONED = ["run_events", "node_runs", "agent_steps"] as const;

/**
 * Makes one partition if the partitions do not reach weeks ahead; returns whether it did. `days` is how long the installation keeps runs;
 * null means forever. System only.
 */
export async function makePartition(db: Db, days: number | null): Promise<boolean> {
  return (await db.value<string | null>("select make_run_partition($1::int)", [days])) !== null;
}

/**
 * Removes one partition that is empty, or whose runs all finished at least `days` ago (null: they are kept forever); returns whether it
 * did. Also returns false if other transactions use all removable partitions, for which it does not wait. System only.
 */
export async function dropPartition(db: Db, days: number | null): Promise<boolean> {
  return (await db.value<string | null>("select drop_run_partition($1::int)", [days])) !== null;
}

/** The time up to which every table has partitions; undefined if one has none. System only. */
export async function partitionsEnd(db: Db): Promise<Date | undefined> {
  const end = await db.value<string | null>(
    `select case when count(*) = $1::int then min(until) end as end
      from (select max(run_time(upper)) as until from run_partitions() group by parent) as tables`,
    [PARTITIONED.length],
  );
  return end === null ? undefined : new Date(end);
}
