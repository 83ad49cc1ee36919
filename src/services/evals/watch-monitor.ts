import { uuidv7 } from "uuidv7";
import { isBelow, nextAlert } from "../../domain/evals/alert.ts";
import type { AlertCondition, AlertState, Observation } from "../../domain/evals/alert.ts";
import type { WatchInput } from "../../domain/evals/monitor.ts";
import type { Db } from "../../stores/db.ts";
import { insertEvent } from "../../stores/outbox.ts";
import { beginScoring, endScoring } from "../../stores/evals/monitor-runs.ts";
import { blamedRuns, summariseWindows } from "../../stores/evals/monitor-stats.ts";
import type { Blame, WindowSummary } from "../../stores/evals/monitor-stats.ts";
import { findMonitor, lockMonitor, noteAlert, noteMonitorError } from "../../stores/evals/monitors.ts";
import type { MonitorRow } from "../../stores/evals/monitors.ts";
import { scoreRuns } from "./score-runs.ts";
import type { ScoreRunsDeps } from "./score-runs.ts";

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
    const observations = alert.conditions.map((condition, index) => observationOf(condition, windows[index]));
    const now = new Date(windows[0]?.now ?? Date.now());
    const { state, notice } = nextAlert(alert, alert_state, observations, now);
    await noteAlert(connection, monitor_id, state);
    if (notice !== null) await tell(connection, monitor, state, notice);
  });
}

function observationOf({ metric }: AlertCondition, window: WindowSummary | undefined): Observation {
  if (window === undefined) return { value: null, samples: 0 };
  const { n, mean, p10, passes, judged, errors } = window;
  switch (metric) {
    case "mean":
      return { value: mean, samples: n };
    case "p10":
      return { value: p10, samples: n };
    case "pass_rate":
      return { value: judged === 0 ? null : passes / judged, samples: judged };
    case "error_rate":
      return { value: n + errors === 0 ? null : errors / (n + errors), samples: n + errors };
    case "sample_count":
      return { value: n, samples: n };
    default:
      return metric satisfies never;
  }
}

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
      const blame = blameOf(condition);
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

/** Which scores cause a condition's alert; null if the condition is about their number. */
function blameOf({ metric, op, threshold }: AlertCondition): Blame | null {
  switch (metric) {
    case "mean":
    case "p10":
      return { kind: "numbers", below: isBelow(op), threshold };
    case "pass_rate":
      return { kind: "judged", passed: !isBelow(op) };
    case "error_rate":
      return isBelow(op) ? null : { kind: "errors" };
    case "sample_count":
      return null;
    default:
      return metric satisfies never;
  }
}
