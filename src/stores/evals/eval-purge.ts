import type { Db } from "../db.ts";

/**
 * Removes rows of deleted experiments, `limit` at most, with their scores, and experiments without rows. Scores of
 * runs that a monitor has sampled stay. Returns how many rows there were. System only.
 */
export async function purgeExperiments(db: Db, limit: number): Promise<number> {
  const removed = await db.count(
    `with gone as (
        delete from experiment_rows where (experiment_id, place) in (
          select x.experiment_id, x.place from experiments e join experiment_rows x using (experiment_id)
          where e.deleted_at is not null limit $1::int)
        returning experiment_id, run_id),
      unsaid as (
        delete from scores s using gone g where s.run_id = g.run_id and s.source = 'evaluator' and s.experiment_id = g.experiment_id
          and not exists (select from eval_monitor_runs m where m.run_id = s.run_id))
      select from gone`,
    [limit],
  );
  if (removed < limit) {
    // Their jobs go with them. Nothing refers to exported files any more, so the sweep removes these blobs.
    await db.query(`delete from experiments e where e.deleted_at is not null
      and not exists (select from experiment_rows x where x.experiment_id = e.experiment_id)
      and not exists (select from experiments o where o.baseline_experiment_id = e.experiment_id)`);
  }
  return removed;
}

/**
 * Removes the samples of deleted monitors, `limit` runs at most, with their scores. Scores that another monitor or an
 * experiment uses stay. Returns how many runs there were. System only.
 */
export async function purgeMonitoredRuns(db: Db, limit: number): Promise<number> {
  return db.count(
    `with gone as (
        delete from eval_monitor_runs where (monitor_id, run_id) in (
          select t.monitor_id, t.run_id from eval_monitors m join eval_monitor_runs t using (monitor_id)
          where m.deleted_at is not null limit $1::int)
        returning monitor_id, run_id),
      unsaid as (
        delete from scores s using gone g, runs r where s.run_id = g.run_id and r.run_id = g.run_id and r.run_type <> 'batch'
          and s.source = 'evaluator' and s.monitor_id = g.monitor_id
          and not exists (select from eval_monitor_runs o where o.run_id = s.run_id and o.monitor_id <> s.monitor_id))
      select from gone`,
    [limit],
  );
}
