import { uuidv7 } from "uuidv7";
import {
  isBelow,
  nextAlert,
  type AlertCondition,
  type AlertState,
  type Observation,
} from "../../domain/evals/alert.ts";
import type { WatchInput } from "../../domain/evals/monitor.ts";
import type { Db } from "../../stores/db.ts";
import { insertEvent } from "../../stores/outbox.ts";
import { beginScoring, endScoring } from "../../stores/evals/monitor-runs.ts";
import { blamedRuns, summariseWindows, type Blame, type WindowSummary } from "../../stores/evals/monitor-stats.ts";
import { findMonitor, lockMonitor, noteAlert, noteMonitorError, type MonitorRow } from "../../stores/evals/monitors.ts";
import { scoreRuns, type ScoreRunsDeps } from "./score-runs.ts";

/** Runs that are scored together. */
const BATCH = 50;
/** Failed attempts after which runs are scored one by one. After MAX_ATTEMPTS a run is no longer tried and counts as an error. */
const SUSPICIOUS = 3;
const MAX_ATTEMPTS = 5;
/** Most runs that an alert names. */
const MAX_NAMED_RUNS = 50;

/** Scores the next sampled runs of a monitor. `more`: further runs may wait. Can be called again after any failure. */
export async function scoreTaken(
  deps: ScoreRunsDeps,
  { org_id, monitor_id }: WatchInput,
  signal: AbortSignal,
): Promise<{ readonly more: boolean }> {
  const { db } = deps;
  const taken = await db.org(org_id, async (connection) => {
    const monitor = await findMonitor(connection, monitor_id);
    if (monitor?.enabled !== true) return null;
    return { monitor, runs: await beginScoring(connection, monitor_id, BATCH, SUSPICIOUS) };
  });
  if (taken === null || taken.runs.length === 0) return { more: false };
  const { monitor, runs } = taken;
  const tried = runs.filter(({ attempts }) => attempts <= MAX_ATTEMPTS);
  if (tried.length > 0) await scoreRuns(deps, org_id, monitor.evaluators, tried, { monitor_id, signal });
  const ids = runs.map(({ run_id }) => run_id);
  await db.org(org_id, (connection) => endScoring(connection, monitor_id, monitor.evaluators, ids));
  return { more: runs.length === BATCH || runs.some(({ attempts }) => attempts > SUSPICIOUS) };
}

/** Checks whether a monitor's alert has changed, and reports a change in the transaction that records it. */
export async function checkAlert({ db }: Pick<ScoreRunsDeps, "db">, { org_id, monitor_id }: WatchInput): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    const monitor = await lockMonitor(connection, monitor_id);
    if (monitor === null || !monitor.enabled) return;
    // Scoring runs before this check and has succeeded, so an earlier error is cleared.
    if (monitor.last_error !== null) await noteMonitorError(connection, monitor_id, null);
    if (!monitor.alert.enabled) return;
    const { alert, alert_state } = monitor;
    const windows = await summariseWindows(connection, monitor_id, alert.conditions);
    const observations = alert.conditions.map(({ metric }, index): Observation => {
      const window = windows[index];
      return window ? OBSERVE[metric](window) : { value: null, samples: 0 };
    });
    const now = new Date(windows[0]?.now ?? Date.now());
    const { state, notice } = nextAlert(alert, alert_state, observations, now);
    await noteAlert(connection, monitor_id, state);
    if (notice !== null) await tell(connection, monitor, state, notice);
  });
}

type ByMetric<Value> = Readonly<Record<AlertCondition["metric"], Value>>;

const OBSERVE: ByMetric<(window: WindowSummary) => Observation> = {
  mean: ({ mean, n }) => ({ value: mean, samples: n }),
  p10: ({ p10, n }) => ({ value: p10, samples: n }),
  pass_rate: ({ passes, judged }) => ({ value: judged === 0 ? null : passes / judged, samples: judged }),
  error_rate: ({ errors, n }) => ({ value: n + errors === 0 ? null : errors / (n + errors), samples: n + errors }),
  sample_count: ({ n }) => ({ value: n, samples: n }),
};

/** Which scores cause a condition's alert; null if the condition is about their number. */
const BLAME: ByMetric<(condition: AlertCondition) => Blame | null> = {
  mean: ({ op, threshold }) => ({ kind: "numbers", below: isBelow(op), threshold }),
  p10: ({ op, threshold }) => ({ kind: "numbers", below: isBelow(op), threshold }),
  pass_rate: ({ op }) => ({ kind: "judged", passed: !isBelow(op) }),
  error_rate: ({ op }) => (isBelow(op) ? null : { kind: "errors" }),
  sample_count: () => null,
};

async function tell(
  db: Db,
  monitor: MonitorRow,
  state: AlertState,
  notice: "triggered" | "reminded" | "resolved",
): Promise<void> {
  const { org_id, monitor_id, name, project_id, alert } = monitor;
  const runs = new Set<string>();
  if (notice !== "resolved")
    for (const [index, condition] of alert.conditions.entries()) {
      const blame = BLAME[condition.metric](condition);
      if (state.observed[index]?.breached !== true || blame === null) continue;
      for (const run_id of await blamedRuns(db, monitor_id, condition, blame, MAX_NAMED_RUNS)) runs.add(run_id);
    }
  await insertEvent(db, {
    event_id: uuidv7(),
    org_id,
    type: `evals.monitor.alert.${notice === "resolved" ? "resolved" : "triggered"}`,
    project_id,
    data: {
      monitor_id,
      name,
      project_id,
      severity: state.severity,
      since: state.since,
      reminder: notice === "reminded",
      conditions: alert.conditions.map(({ evaluator_id, metric, op, threshold, window_seconds }, index) => {
        const { value = null, samples = 0, breached = null } = state.observed[index] ?? {};
        return { evaluator_id, metric, op, threshold, window_seconds, observed: value, samples, breached };
      }),
      run_ids: [...runs].slice(0, MAX_NAMED_RUNS),
    },
  });
}
