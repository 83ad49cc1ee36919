import type { Config } from "../../config.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { dueTimes, unfinishedNodes, type NodeRunRow } from "../../stores/runs/node-runs.ts";
import { listPauses } from "../../stores/runs/pauses.ts";
import { getRun, liveChildren, type RunRow } from "../../stores/runs/runs.ts";
import { examineRun, type RunExamined } from "../../temporal/examine-run.ts";
import { openDoctorDatabase } from "./doctor-database.ts";

/** One reason why a run waits or has finished. */
export interface Reason {
  readonly code:
    | "ended"
    | "not_yet"
    | "not_started"
    | "no_worker"
    | "busy_workers"
    | "waits_for_person"
    | "waits_for_retry"
    | "waits_for_time"
    | "waits_for_run"
    | "executes"
    | "is_cancelled"
    | "is_stuck"
    | "workflow_missing"
    | "temporal_unreachable"
    | "steps";
  readonly text: string;
  /** How to fix it. */
  readonly advice?: string;
}

const reason = (code: Reason["code"], text: string, advice?: string): Reason => ({
  code,
  text,
  ...(advice !== undefined && { advice }),
});

/** Explains the state of a run. */
export interface Explanation {
  readonly run_id: string;
  readonly org_id: string;
  readonly state: string;
  readonly reasons: readonly Reason[];
}

/** Most reasons of one kind that are listed individually. */
const MAX_NAMED = 5;

/** Explains the state of a run by its record and by Temporal. Null if the run does not exist. Changes nothing. */
export async function explainRun(config: Config, runId: string): Promise<Explanation | null> {
  const db = openDoctorDatabase(config);
  try {
    const run = await db.system((connection) => getRun(connection, runId));
    if (!run) return null;
    const { org_id, state } = run;
    if (isTerminal(state)) return { run_id: runId, org_id, state, reasons: [ended(run)] };
    const seen = await examineRun(config, runId);
    const reasons = "unreachable" in seen ? [unreachable(seen.unreachable)] : inTemporal(run, seen);
    const waiting = await inRecord(db, run);
    const all = [...cancelled(run), ...reasons, ...waiting];
    const steps = reason("steps", "The run is between two steps: its workflow is running and nothing blocks it.");
    return { run_id: runId, org_id, state, reasons: all.length > 0 ? all : [steps] };
  } finally {
    await db.close();
  }
}

function ended({ run_id, state, finished_at, error, state_reason }: RunRow): Reason {
  const at = finished_at === null ? "" : ` at ${time(finished_at)}`;
  if (state === "COMPLETED") return reason("ended", `The run completed${at}.`);
  const where = error?.path ? ` at node ${error.path}` : "";
  const why = error ? `${error.code}${where}: ${error.message}` : (state_reason ?? "no reason is recorded");
  const text = `The run ${state === "FAILED" ? "failed" : "was cancelled"}${at}. ${why}`;
  return reason("ended", text, `To resume it as a new run: millrace runs resume ${run_id} --from failed`);
}

function cancelled({ run_id, cancel_requested }: RunRow): Reason[] {
  if (!cancel_requested) return [];
  const text = `Cancellation was requested at ${time(cancel_requested.at)}; the run's nodes are being stopped.`;
  return [reason("is_cancelled", text, `To terminate it now: millrace runs cancel ${run_id} --terminate`)];
}

function unreachable(message: string): Reason {
  const text = `Temporal does not respond (${message}); no run can progress without it.`;
  const advice = "Check that TEMPORAL_ADDRESS can be reached; run millrace doctor for details.";
  return reason("temporal_unreachable", text, advice);
}

/** Reasons found in Temporal's view of an unfinished run. */
function inTemporal(run: RunRow, { view, trouble, untaken, queues }: RunExamined): Reason[] {
  const runQueue = queues.find(({ queue }) => queue === "runs");
  const nodeQueue = queues.find(({ queue }) => queue === "nodes");
  if (run.run_at !== null && run.state === "PENDING" && Date.parse(run.run_at) > Date.now())
    return [reason("not_yet", `Scheduled to start at ${time(run.run_at)} (run_at).`)];
  if (view === "not_found" && run.state === "PENDING") {
    const text = `The run was accepted at ${time(run.created_at)}, but its workflow has not started yet.`;
    const advice =
      "The sweeper in every api, and in every worker of the queue `runs`, starts it within seconds. Check that one of them is running.";
    return [reason("not_started", text, advice)];
  }
  if (view !== "running") {
    const text =
      view === "not_found"
        ? "Temporal has no workflow for this run: its history was deleted, or TEMPORAL_NAMESPACE is wrong."
        : `The workflow finished in Temporal (${view}), but the run's record is not updated yet.`;
    const advice =
      "The sweeper updates it within minutes. It runs in every api and in every worker of the queue `runs`.";
    return [reason("workflow_missing", text, advice)];
  }
  const reasons: Reason[] = [];
  if (trouble) {
    const text = `The run's workflow is stuck: its last ${trouble.attempts} tasks ${trouble.timed_out ? "timed out" : "failed"}.`;
    const advice =
      "Check the worker logs. After an upgrade, go back to the previous version; otherwise cancel the run, or wait: Millrace fails it after a while.";
    reasons.push(reason("is_stuck", text, advice));
  }
  if (runQueue?.pollers === 0) reasons.push(noWorker("runs", "the steps of its workflow", runQueue.name));
  if (untaken > 0 && nodeQueue?.pollers === 0) reasons.push(noWorker("nodes", "its nodes", nodeQueue.name));
  else if (untaken > 0 && nodeQueue) {
    const { pollers, backlog, polled_at } = nodeQueue;
    const all = backlog === null ? "" : `; ${backlog} tasks are waiting in total`;
    const since = polled_at === null ? "" : ` Workers last polled at ${time(new Date(polled_at).toISOString())}.`;
    const text = `${untaken} nodes are queued: all ${pollers} workers are at capacity or at the limit for one organisation, or have just stopped${all}.${since}`;
    const advice =
      "Check that workers of the queue `nodes` are running. Add workers, or raise MILLRACE_WORKER_ACTIVITIES.";
    reasons.push(reason("busy_workers", text, advice));
  }
  return reasons;
}

function noWorker(queue: string, what: string, name: string): Reason {
  const advice = `Start a worker with ${queue} in MILLRACE_WORKER_QUEUES, and the same MILLRACE_TASK_QUEUE. If one is running, all its slots have been taken for a minute: add workers.`;
  return reason("no_worker", `No worker polls the task queue ${name} for ${what}.`, advice);
}

/** Reasons found in the unfinished nodes of a run's record. */
async function inRecord(db: Database, run: RunRow): Promise<Reason[]> {
  const [nodes, pauses, children] = await Promise.all([
    db.system((connection) => unfinishedNodes(connection, run.run_id)),
    db.system((connection) => listPauses(connection, run.run_id)),
    db.system((connection) => liveChildren(connection, run.run_id)),
  ]);
  const open = pauses.filter(({ status }) => status === "waiting");
  const people = open.map(({ pause_id, kind, path, created_at, expires_at, on_timeout }) => {
    const limit = expires_at === null ? ", without a time limit" : `, until ${time(expires_at)}; then: ${on_timeout}`;
    const text = `Waiting for an approval at ${path} (${kind}) since ${time(created_at)}${limit}.`;
    const advice = `To answer: millrace runs resume ${run.run_id} --pause ${pause_id} --action <id>`;
    return reason("waits_for_person", text, advice);
  });
  const retrying = nodes.filter((node) => node.state === "RETRYING").map((node) => retry(node));
  const runs = children.map((id) =>
    reason("waits_for_run", `Waiting for the child run ${id}.`, `millrace doctor --explain ${id}`),
  );
  // Nodes that contain other unfinished nodes only wait for these, so they are omitted.
  const leaves = nodes.filter(
    ({ path, state, type }) =>
      state === "RUNNING" && type !== "subflow" && !nodes.some((inner) => isInside(inner.path, path)),
  );
  const delays = leaves.filter(({ type }) => type === "delay").map(({ path }) => path);
  const due = delays.length === 0 ? null : await db.system((connection) => dueTimes(connection, run.run_id, delays));
  const work = leaves.map((node) => (node.type === "delay" ? delayed(node, due?.get(node.path)) : executing(node)));
  return [...named(people), ...named(retrying), ...named(runs), ...named(work)];
}

function retry({ path, attempts, error, next_attempt_at }: NodeRunRow): Reason {
  const last = error ? ` Last error: ${error.code}: ${error.message}` : "";
  if (next_attempt_at === null || error === null)
    return reason("executes", `${path} is being retried: attempt ${attempts} is running.`);
  const seconds = Math.ceil((Date.parse(next_attempt_at) - Date.now()) / 1000);
  const when = seconds > 0 ? `in ${seconds} s, at ${time(next_attempt_at)}` : "now";
  const text = `${path} is retried ${when}, after ${attempts} failed ${attempts === 1 ? "attempt" : "attempts"}.${last}`;
  const advice =
    "Fix the connection, the URL or the service that the error names. The next attempt starts automatically.";
  return reason("waits_for_retry", text, advice);
}

function executing({ path, type, started_at }: NodeRunRow): Reason {
  const since = started_at === null ? "" : ` since ${time(started_at)}`;
  return reason("executes", `${path} (${type}) is running${since}.`);
}

/** `due` is undefined for delays recorded by an earlier release. */
function delayed({ path, started_at }: NodeRunRow, due: string | undefined): Reason {
  const since = started_at === null ? "" : ` since ${time(started_at)}`;
  if (due === undefined) return reason("waits_for_time", `Delay at ${path}${since}.`);
  const late = Math.floor((Date.now() - Date.parse(due)) / 1000);
  if (late < 1) return reason("waits_for_time", `Delay at ${path}${since}, until ${time(due)}.`);
  const text = `The delay at ${path} ended at ${time(due)}, ${late} s ago, but no worker has continued the run.`;
  const advice =
    "A worker of the queue `runs` continues the run: check that one is running, or add workers if all are busy.";
  return reason("waits_for_time", text, advice);
}

const isInside = (path: string, outer: string): boolean =>
  path !== outer && (path.startsWith(`${outer}/`) || path.startsWith(`${outer}[`));

function named(reasons: readonly Reason[]): Reason[] {
  const [first] = reasons;
  if (!first || reasons.length <= MAX_NAMED) return [...reasons];
  return [...reasons.slice(0, MAX_NAMED), reason(first.code, `${reasons.length - MAX_NAMED} more of this kind.`)];
}

/** A time without fractions of seconds. */
function time(at: string): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
