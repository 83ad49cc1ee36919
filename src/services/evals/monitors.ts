import { NO_ALERT, UNKNOWN_ALERT, type AlertSettings } from "../../domain/evals/alert.ts";
import { conflict, ValidationProblem, invalid, notFound, required } from "../../domain/errors.ts";
import { monitorFilterSchema, type MonitorFilter, type MonitorLimits } from "../../domain/evals/monitor.ts";
import { patched, type Patch } from "../../domain/patch.ts";
import type { Db } from "../../stores/db.ts";
import {
  findMonitor,
  insertMonitor,
  lockMonitor,
  markMonitorDeleted,
  markMonitorsOfProjectDeleted,
  updateAlert,
  updateMonitor,
  type MonitorPlan,
  type MonitorRow,
  type MonitorDetail,
} from "../../stores/evals/monitors.ts";
import { changeChecked, changeLocked, stated, type Given } from "../change.ts";
import { followSchedule } from "../schedules/apply.ts";
import { requireNamedEnvironment } from "../projects/environment-pointers.ts";
import { requireProject, unknownFlowVersions } from "../projects/projects.ts";
import { pinEvaluators } from "./evaluators.ts";
import { monitorSchedules } from "./monitor-schedules.ts";
import { requireRoom } from "../require-room.ts";
import { recordCreated, recordDeleted, type RowAudit } from "../audit/audit.ts";
import type { Parts } from "../parts.ts";

export type MonitorDeps = Parts<"logger" | "db" | "schedules" | "config">;

export function monitorLimits(config: MonitorDeps["config"]): MonitorLimits {
  return {
    max_monitors: config.MILLRACE_MAX_MONITORS,
    max_evaluators_per_monitor: config.MILLRACE_MAX_MONITOR_EVALUATORS,
    min_window_seconds: config.MILLRACE_MONITOR_MIN_WINDOW_SECONDS,
    max_sampled_runs_per_hour: config.MILLRACE_MONITOR_RUNS_PER_HOUR,
    retention_days: config.MILLRACE_MONITOR_RETENTION_DAYS,
  };
}

export interface MonitorRequest extends Omit<MonitorPlan, "evaluators" | "max_per_hour"> {
  readonly evaluator_ids: readonly string[];
  /** Default: a hundred, or the installation's limit if that is lower. */
  readonly max_per_hour?: number | undefined;
  readonly filter: MonitorFilter;
}

const DEFAULT_PER_HOUR = 100;

/** The monitor with this ID. Throws 404. */
export async function requireMonitor(db: Db, monitorId: string): Promise<MonitorDetail> {
  return required(await findMonitor(db, monitorId), "monitor");
}

/** Locks a monitor. Throws 404. */
async function requireLocked(db: Db, monitorId: string): Promise<MonitorRow> {
  const row = await lockMonitor(db, monitorId);
  if (row === null || row.deleted_at !== null) throw notFound("monitor");
  return row;
}

/**
 * Pins the current versions of the evaluators. Throws 404 for missing evaluators, and 422 for too many or for versions
 * that the flow does not have.
 */
async function planOf({ db, config }: MonitorDeps, orgId: string, request: MonitorRequest): Promise<MonitorPlan> {
  const limits = monitorLimits(config);
  if (new Set(request.evaluator_ids).size > limits.max_evaluators_per_monitor)
    throw invalid(
      ["body", "evaluator_ids"],
      `A monitor can have at most ${limits.max_evaluators_per_monitor} evaluators`,
    );
  const {
    max_per_hour = Math.min(DEFAULT_PER_HOUR, limits.max_sampled_runs_per_hour),
    evaluator_ids: _,
    ...rest
  } = request;
  if (max_per_hour > limits.max_sampled_runs_per_hour)
    throw invalid(["body", "max_per_hour"], `Must be at most ${limits.max_sampled_runs_per_hour} runs per hour`);
  await requireProject(db, orgId, request.project_id, "project");
  return await db.org(orgId, async (connection) => {
    await requireFlowVersions(connection, request.project_id, request.flow_versions ?? []);
    await requireNamedEnvironment(connection, request.project_id, request.environment);
    return { ...rest, max_per_hour, evaluators: await pinEvaluators(connection, request.evaluator_ids) };
  });
}

/** Throws 422 for versions that the project's flow does not have: such a monitor would never see a run. */
async function requireFlowVersions(db: Db, projectId: string, versions: readonly number[]): Promise<void> {
  const issues = (await unknownFlowVersions(db, projectId, versions)).map((index) => ({
    loc: ["body", "flow_versions", index],
    msg: `The flow does not have version ${versions[index]}`,
    type: "value_error",
  }));
  if (issues.length > 0) throw new ValidationProblem(issues);
}

/** Creates a monitor. Throws 404, 409 if the organisation has the maximum number of monitors, and 422. */
export async function createMonitor(
  deps: MonitorDeps,
  orgId: string,
  monitorId: string,
  request: MonitorRequest,
  audited: RowAudit<MonitorRow>,
): Promise<MonitorDetail> {
  const plan = await planOf(deps, orgId, request);
  const { max_monitors } = monitorLimits(deps.config);
  await deps.db.orgTransaction(orgId, async (connection) => {
    await requireRoom(connection, "monitors", monitorId, max_monitors);
    const created = await insertMonitor(connection, {
      ...plan,
      monitor_id: monitorId,
      org_id: orgId,
      alert: NO_ALERT,
      alert_state: UNKNOWN_ALERT,
    });
    if (created) await recordCreated(connection, audited, await requireLocked(connection, monitorId));
  });
  return await applyAndRead(deps, orgId, monitorId);
}

function settingsOf(row: MonitorRow): Omit<MonitorPlan, "evaluators"> {
  const { name, description, project_id, flow_versions, environment, sampling_rate, filter, max_per_hour, enabled } =
    row;
  return { name, description, project_id, flow_versions, environment, sampling_rate, filter, max_per_hour, enabled };
}

/** The fields of a monitor that a request changes. */
type MonitorChange = Omit<Given<MonitorRequest>, "filter"> & { readonly filter?: Patch<MonitorFilter> | undefined };

/**
 * Changes a monitor, and pins the current versions of named evaluators. Calls `check` with it before it changes
 * anything. Throws 404, 409 and 422.
 */
export async function changeMonitor(
  deps: MonitorDeps,
  orgId: string,
  monitorId: string,
  change: MonitorChange,
  check: (row: MonitorRow) => void,
  audited: RowAudit<MonitorRow>,
): Promise<MonitorDetail> {
  const { filter, ...given } = stated(change);
  const { evaluator_ids = [], ...members } = given;
  const filterOf = (row: MonitorRow): MonitorFilter =>
    filter === undefined ? row.filter : patched(monitorFilterSchema, "filter", row.filter, filter);
  await changeChecked<MonitorRow, MonitorPlan, void>(deps.db, orgId, {
    audited,
    read: (connection, lock) => (lock ? requireLocked : requireMonitor)(connection, monitorId),
    requireMatch: check,
    revisionOf: ({ revision }) => revision,
    prepare: (row) => planOf(deps, orgId, { ...settingsOf(row), ...members, filter: filterOf(row), evaluator_ids }),
    async write(connection, row, plan) {
      const evaluators = given.evaluator_ids === undefined ? row.evaluators : plan.evaluators;
      requireAlerted(row, evaluators);
      await updateMonitor(connection, monitorId, { ...plan, evaluators });
    },
  });
  return await applyAndRead(deps, orgId, monitorId);
}

/** Throws 409 if the alert uses an evaluator that is not one of these. */
function requireAlerted({ alert }: MonitorRow, evaluators: MonitorPlan["evaluators"]): void {
  const missing = alert.conditions.find(
    (each) => !evaluators.some(({ evaluator_id }) => evaluator_id === each.evaluator_id),
  );
  if (missing !== undefined)
    throw conflict(`The alert has a condition on evaluator ${missing.evaluator_id}: change the alert first.`);
}

/** Deletes a monitor, so that no further runs are sampled for it. Throws 404. */
export async function deleteMonitor(
  deps: MonitorDeps,
  orgId: string,
  monitorId: string,
  audited: RowAudit<MonitorRow>,
): Promise<void> {
  await deps.db.orgTransaction(orgId, async (connection) => {
    const monitor = await requireLocked(connection, monitorId);
    await markMonitorDeleted(connection, monitorId);
    await recordDeleted(connection, audited, monitor);
  });
  await applySchedule(deps, orgId, monitorId);
}

/** Deletes the monitors of a project that the transaction has locked. */
export const deleteMonitorsOf = (db: Db, projectId: string): Promise<void> =>
  markMonitorsOfProjectDeleted(db, projectId);

/**
 * Changes the alert of a monitor. The state of the alert is reset, because earlier measurements belong to the earlier
 * alert. Throws 404 and 422.
 */
export async function changeAlert(
  deps: MonitorDeps,
  orgId: string,
  monitorId: string,
  change: Given<AlertSettings>,
  check: (row: MonitorRow) => void,
  audited: RowAudit<MonitorRow>,
): Promise<MonitorDetail> {
  const { min_window_seconds } = monitorLimits(deps.config);
  const given = stated(change);
  await changeLocked(deps.db, orgId, {
    audited,
    lock: (connection) => requireLocked(connection, monitorId),
    requireMatch: check,
    async write(connection, row) {
      const alert: AlertSettings = { ...row.alert, ...given };
      for (const [index, { evaluator_id, window_seconds }] of alert.conditions.entries()) {
        const place = ["body", "conditions", index];
        if (!row.evaluators.some((each) => each.evaluator_id === evaluator_id))
          throw invalid([...place, "evaluator_id"], "Not an evaluator of this monitor");
        if (given.conditions !== undefined && window_seconds < min_window_seconds)
          throw invalid([...place, "window_seconds"], `A window must be at least ${min_window_seconds} seconds`);
      }
      if (alert.enabled && alert.conditions.length === 0)
        throw invalid(["body", "conditions"], "An enabled alert needs at least one condition");
      const isOther = given.conditions !== undefined || alert.enabled !== row.alert.enabled;
      // `told_at` is kept, because the end of a reported alert is reported too.
      const state = isOther ? { ...UNKNOWN_ALERT, told_at: row.alert_state.told_at } : row.alert_state;
      await updateAlert(connection, monitorId, alert, state);
    },
  });
  return await applyAndRead(deps, orgId, monitorId);
}

const applySchedule = (deps: MonitorDeps, org_id: string, id: string): Promise<void> =>
  followSchedule(deps, monitorSchedules(deps.config), { org_id, id });

async function applyAndRead(deps: MonitorDeps, orgId: string, monitorId: string): Promise<MonitorDetail> {
  await applySchedule(deps, orgId, monitorId);
  return await deps.db.org(orgId, (connection) => requireMonitor(connection, monitorId));
}
