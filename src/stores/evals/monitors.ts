import type { AlertSettings, AlertState } from "../../domain/evals/alert.ts";
import type { MonitorFilter, MonitorStats } from "../../domain/evals/monitor.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";
import { keysetSql, type Keyset } from "../keyset.ts";
import { scheduleRevisions } from "../schedule-revisions.ts";

const PLANNED = `name text, description text, project_id uuid, flow_versions int[] null, evaluators jsonb, sampling_rate float8,
  filter jsonb, max_per_hour int, enabled boolean, environment text`;
const PLAN = columns(PLANNED);
const NEW = columns(`monitor_id uuid, org_id uuid, alert jsonb, alert_state jsonb, ${PLANNED}`);
const ROW = columns(`monitor_id uuid, org_id uuid, alert jsonb, alert_state jsonb, revision int, applied_revision int,
  last_error text null, last_error_at timestamptz null, created_at timestamptz, updated_at timestamptz,
  deleted_at timestamptz null`);

/** The definition of a monitor. */
export interface MonitorPlan extends RowOf<typeof PLAN> {
  readonly evaluators: ReadonlyArray<{ readonly evaluator_id: string; readonly version: number }>;
  readonly filter: MonitorFilter;
}

export interface MonitorRow extends MonitorPlan, RowOf<typeof ROW> {
  readonly alert: AlertSettings;
  readonly alert_state: AlertState;
  /** The most recent reason why its runs could not be scored, or its alert not be checked. */
  readonly last_error: string | null;
}

/** A monitor with counts of its runs by their outcome. */
export type MonitorDetail = MonitorRow & MonitorStats;

const COLUMNS = `${ROW.select("m")}, ${PLAN.select("m")}`;
const SHOWN = `${COLUMNS}, h.eligible, h.sampled, h.scored, h.errored`;
const WITH_STATS = `cross join lateral (
  select coalesce(sum(eligible), 0) as eligible, coalesce(sum(sampled), 0) as sampled, coalesce(sum(scored), 0) as scored,
    coalesce(sum(errored), 0) as errored
  from eval_monitor_hours where monitor_id = m.monitor_id) h`;
const ONE = "m.org_id = current_org() and m.monitor_id = $1::uuid";

/** Inserts a monitor; does nothing if the id exists (the same request, retried). */
export async function insertMonitor(
  db: Db,
  monitor: Pick<MonitorRow, "monitor_id" | "org_id" | "alert" | "alert_state"> & MonitorPlan,
): Promise<boolean> {
  return db.any(`insert into eval_monitors ${NEW.into} on conflict (monitor_id) do nothing`, NEW.values(monitor));
}

/** One monitor, or null. */
export async function findMonitor(db: Db, monitorId: string): Promise<MonitorDetail | null> {
  return db.first(`select ${SHOWN} from eval_monitors m ${WITH_STATS} where ${ONE} and m.deleted_at is null`, [
    monitorId,
  ]);
}

/** Locks a monitor, deleted or not, until the transaction ends; null if there is none. */
export async function lockMonitor(db: Db, monitorId: string): Promise<MonitorRow | null> {
  return db.first(`select ${COLUMNS} from eval_monitors m where ${ONE} for update`, [monitorId]);
}

export interface MonitorSearch {
  readonly project_id: string | null;
  readonly enabled: boolean | null;
}

/** A page of the organisation's monitors. */
export async function listMonitors(db: Db, search: MonitorSearch, page: Keyset): Promise<MonitorDetail[]> {
  const { bound, compare, order } = keysetSql(page);
  return db.query(
    `select ${SHOWN} from (select * from eval_monitors where org_id = current_org() and deleted_at is null
      and ($1::uuid is null or project_id = $1) and ($2::boolean is null or enabled = $2) and monitor_id ${compare} $3::uuid
      order by monitor_id ${order} limit $4::int) m ${WITH_STATS} order by m.monitor_id ${order}`,
    [search.project_id, search.enabled, bound, page.limit],
  );
}

/** Monitors that have pinned a version of an evaluator. */
export async function monitorsUsing(
  db: Db,
  evaluatorId: string,
  limit: number,
): Promise<Array<{ monitor_id: string; name: string }>> {
  return db.query(
    `select monitor_id, name from eval_monitors where org_id = current_org() and deleted_at is null
      and evaluators @> jsonb_build_array(jsonb_build_object('evaluator_id', $1::uuid)) order by monitor_id limit $2::int`,
    [evaluatorId, limit],
  );
}

/** Writes the definition of a monitor that the caller has locked. */
export async function updateMonitor(db: Db, monitorId: string, plan: MonitorPlan): Promise<void> {
  await db.query(
    `update eval_monitors m set ${PLAN.set(2)}, last_error = null, last_error_at = null, revision = revision + 1, updated_at = now()
      where ${ONE}`,
    [monitorId, ...PLAN.values(plan)],
  );
}

/** Sets the alert of a monitor that the caller has locked. */
export async function updateAlert(db: Db, monitorId: string, alert: AlertSettings, state: AlertState): Promise<void> {
  await db.query(
    `update eval_monitors m set alert = $2::jsonb, alert_state = $3::jsonb, revision = revision + 1, updated_at = now()
      where ${ONE}`,
    [monitorId, jsonb(alert), jsonb(state)],
  );
}

/** Writes the alert's state of a monitor that the caller has locked. */
export async function noteAlert(db: Db, monitorId: string, state: AlertState): Promise<void> {
  await db.query(`update eval_monitors m set alert_state = $2::jsonb where ${ONE}`, [monitorId, jsonb(state)]);
}

/** Records why a monitor does not work; null means that it works. */
export async function noteMonitorError(db: Db, monitorId: string, message: string | null): Promise<void> {
  await db.query(
    `update eval_monitors m set last_error = $2::text, last_error_at = case when $2::text is not null then now() end where ${ONE}`,
    [monitorId, message?.slice(0, 1000) ?? null],
  );
}

/** Deletes a monitor for all later requests; a purge removes its samples. */
export async function markMonitorDeleted(db: Db, monitorId: string): Promise<void> {
  await db.query(
    `update eval_monitors m set deleted_at = now(), enabled = false, revision = revision + 1 where ${ONE}`,
    [monitorId],
  );
}

/** Deletes the monitors of a project that the transaction has locked. */
export async function markMonitorsOfProjectDeleted(db: Db, projectId: string): Promise<void> {
  await db.query(
    `update eval_monitors set deleted_at = now(), enabled = false, revision = revision + 1
      where org_id = current_org() and project_id = $1::uuid and deleted_at is null`,
    [projectId],
  );
}

/** The parts of a monitor that determine its schedule in Temporal. */
export type MonitorSchedule = Pick<MonitorRow, "org_id" | "monitor_id" | "enabled" | "revision" | "deleted_at">;

const SCHEDULED = "m.org_id, m.monitor_id, m.enabled, m.revision, m.deleted_at";

/** The schedule settings of one monitor, deleted or not. */
export async function findMonitorSchedule(db: Db, monitorId: string): Promise<MonitorSchedule | null> {
  return db.first(`select ${SCHEDULED} from eval_monitors m where ${ONE}`, [monitorId]);
}

/** The schedule settings of existing monitors after `after`, by ID, except refused schedules. System only. */
export async function monitorSchedules(db: Db, after: string, limit: number): Promise<MonitorSchedule[]> {
  return db.query(
    `select ${SCHEDULED} from eval_monitors m where m.deleted_at is null and m.refused_revision is distinct from m.revision
      and m.monitor_id > $1::uuid
      order by m.monitor_id limit $2::int`,
    [after, limit],
  );
}

export const monitorRevisions = scheduleRevisions("eval_monitors", "monitor_id");

/**
 * Removes samples older than `days`, and data of deleted monitors, at most `limit` of each kind. Returns the largest of these counts.
 * System only.
 */
export async function purgeMonitors(db: Db, days: number, limit: number): Promise<number> {
  let most = 0;
  for (const [table, time, key] of [
    ["eval_monitor_scores", "ended_at", "(monitor_id, run_id, evaluator_id)"],
    ["eval_monitor_runs", "ended_at", "(monitor_id, run_id)"],
    ["eval_monitor_hours", "hour", "(monitor_id, hour)"],
  ] as const) {
    const names = key.slice(1, -1);
    const removed = await db.count(
      `delete from ${table} where ${key} in (
          (select ${names} from ${table} where ${time} < now() - make_interval(days => $1::int) order by ${time} limit $2::int)
          union all
          (select ${names} from ${table} join eval_monitors m using (monitor_id) where m.deleted_at is not null limit $2::int)
        )`,
      [days, limit],
    );
    most = Math.max(most, removed);
  }
  if (most === 0) {
    await db.query(`delete from eval_monitors m where m.deleted_at is not null and m.applied_revision = m.revision
      and not exists (select from eval_monitor_scores where monitor_id = m.monitor_id)
      and not exists (select from eval_monitor_runs where monitor_id = m.monitor_id)
      and not exists (select from eval_monitor_hours where monitor_id = m.monitor_id)`);
  }
  return Math.min(limit, most);
}
