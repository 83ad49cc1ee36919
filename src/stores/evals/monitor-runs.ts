import type { RunLabels, RunSelection } from "../../domain/evals/monitor.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import type { MonitorRow } from "./monitors.ts";

/** The fields of a monitor that the relay needs. */
export type SamplingMonitor = RunSelection & Pick<MonitorRow, "monitor_id" | "sampling_rate">;

/** The enabled monitors of some organisations. System only. */
export async function enabledMonitors(db: Db, orgIds: readonly string[]): Promise<SamplingMonitor[]> {
  return db.query(
    `select monitor_id, org_id, project_id, flow_versions, environment, filter, sampling_rate, created_at from eval_monitors
      where org_id = any ($1::uuid[]) and enabled and deleted_at is null`,
    [orgIds],
  );
}

/** The labels of runs. System only. */
export async function labelsOf(db: Db, runIds: readonly string[]): Promise<Array<RunLabels & { run_id: string }>> {
  return db.query("select run_id, environment, user_id, tags, metadata from runs where run_id = any ($1::uuid[])", [
    runIds,
  ]);
}

const HOUR = columns("monitor_id uuid, hour timestamptz, org_id uuid, eligible int, wanted int");

/** The runs of one hour for a monitor to count. */
export interface HourCount extends RowOf<typeof HOUR> {
  /** How many of the eligible runs the monitor would sample. */
  readonly wanted: number;
}

/**
 * Counts runs by hour, and returns how many of the wanted ones the monitors may sample: never more than
 * `max_per_hour`. System only.
 */
export async function countHours(
  db: Db,
  counts: readonly HourCount[],
): Promise<Array<Pick<HourCount, "monitor_id" | "hour"> & { granted: number }>> {
  return db.query(
    // The row's lock serialises the relays of several processes, so the cap holds for all together.
    `insert into eval_monitor_hours as h (monitor_id, hour, org_id, eligible, sampled, granted)
      select c.monitor_id, c.hour, c.org_id, c.eligible, least(c.wanted, m.max_per_hour), least(c.wanted, m.max_per_hour)
      from jsonb_to_recordset($1::jsonb) c(${HOUR.recordset})
      join eval_monitors m using (monitor_id)
      order by c.monitor_id, c.hour
      on conflict (monitor_id, hour) do update set eligible = h.eligible + excluded.eligible,
        sampled = h.sampled + greatest(0, least(excluded.granted,
          (select max_per_hour from eval_monitors where monitor_id = h.monitor_id) - h.sampled)),
        granted = greatest(0, least(excluded.granted,
          (select max_per_hour from eval_monitors where monitor_id = h.monitor_id) - h.sampled))
      returning monitor_id, hour, granted`,
    [jsonb(counts)],
  );
}

const TAKEN = columns("monitor_id uuid, run_id uuid, org_id uuid, flow_version int, ended_at timestamptz");

/** A run that a monitor samples. */
export type TakenRun = RowOf<typeof TAKEN>;

/** Queues runs for scoring by monitors, except runs that were removed meanwhile. System only. */
export async function takeRuns(db: Db, runs: readonly TakenRun[]): Promise<void> {
  await db.query(
    `insert into eval_monitor_runs (${TAKEN.select()}) select ${TAKEN.select("t")}
      from jsonb_to_recordset($1::jsonb) t(${TAKEN.recordset})
      join runs r using (run_id)
      on conflict do nothing`,
    [jsonb(runs)],
  );
}

/** A run that waits for its scores, and its attempts so far. */
export interface WaitingRun {
  readonly run_id: string;
  readonly attempts: number;
}

/**
 * Returns the oldest unscored runs of a monitor and counts an attempt for each. If any of them has had `suspicious` attempts, only the
 * oldest is returned.
 */
export async function beginScoring(
  db: Db,
  monitorId: string,
  limit: number,
  suspicious: number,
): Promise<WaitingRun[]> {
  return db.query(
    `with waiting as (
        select run_id, attempts, row_number() over (order by run_id) as place from eval_monitor_runs
        where org_id = current_org() and monitor_id = $1::uuid and scored_at is null order by run_id limit $2::int)
      update eval_monitor_runs r set attempts = r.attempts + 1 from waiting w
      where r.monitor_id = $1::uuid and r.run_id = w.run_id
        and (w.place = 1 or not exists (select from waiting where attempts >= $3::int))
      returning r.run_id, r.attempts`,
    [monitorId, limit, suspicious],
  );
}

/** Stores the evaluators' scores of runs, and counts them once. A missing score is an error. */
export async function endScoring(
  db: Db,
  monitorId: string,
  pins: ReadonlyArray<{ readonly evaluator_id: string; readonly version: number }>,
  runIds: readonly string[],
): Promise<void> {
  await db.query(
    `with done as (
        update eval_monitor_runs set scored_at = now() where org_id = current_org() and monitor_id = $1::uuid
          and run_id = any ($2::uuid[]) and scored_at is null
        returning org_id, run_id, flow_version, ended_at),
      said as (
        select d.*, p.evaluator_id, p.version, s.number, s.passed, s.score_id is null or s.error is not null as failed
        from done d cross join jsonb_to_recordset($3::jsonb) p(evaluator_id uuid, version int)
        left join scores s on s.run_id = d.run_id and s.source = 'evaluator' and s.evaluator_id = p.evaluator_id
          and s.evaluator_version = p.version),
      put as (
        insert into eval_monitor_scores (monitor_id, run_id, evaluator_id, evaluator_version, org_id, flow_version, ended_at, number,
          passed, failed)
        select $1::uuid, run_id, evaluator_id, version, org_id, flow_version, ended_at, number, passed, failed from said
        on conflict do nothing)
      insert into eval_monitor_hours as h (monitor_id, hour, org_id, scored, errored)
      select $1::uuid, date_trunc('hour', ended_at, 'UTC'), org_id, count(*), count(*) filter (where failed)
      from (select run_id, ended_at, org_id, bool_or(failed) as failed from said group by 1, 2, 3) r
      group by 2, 3 order by 2
      on conflict (monitor_id, hour) do update set scored = h.scored + excluded.scored, errored = h.errored + excluded.errored`,
    [monitorId, runIds, jsonb(pins)],
  );
}
