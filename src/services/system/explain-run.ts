import type { Config } from "../../config.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { unfinishedNodes } from "../../stores/runs/node-runs.ts";
import type { NodeRunRow } from "../../stores/runs/node-runs.ts";
import { listPauses } from "../../stores/runs/pauses.ts";
import { getRun, liveChildren } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { examineRun } from "../../temporal/examine-run.ts";
import type { RunExamined } from "../../temporal/examine-run.ts";
import { openDoctorDatabase } from "./doctor-database.ts";

/** One reason why a run waits or has ended. */
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
  /** What helps. */
  readonly advice?: string;
}

/** Explains the state of a run. */
export interface Explanation {
  readonly run_id: string;
  readonly org_id: string;
  readonly state: string;
  readonly reasons: readonly Reason[];
}

/** Reasons of one kind that are listed one by one. */
const MAX_NAMED = 5;

/** Explains the state of a run by its record and by Temporal. Null if there is no such run. Changes nothing. */
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
    const steps: Reason = {
      code: "steps",
      text: "It is between two steps: its workflow is under way, and it waits for nothing that takes longer than moments.",
    };
    return { run_id: runId, org_id, state, reasons: all.length > 0 ? all : [steps] };
  } finally {
    await db.close();
  }
}

function ended({ run_id, state, finished_at, error, state_reason }: RunRow): Reason {
  const at = finished_at === null ? "" : ` at ${time(finished_at)}`;
  if (state === "COMPLETED") return { code: "ended", text: `It has completed${at}.` };
  const where = error?.path ? ` at node ${error.path}` : "";
  const why = error ? `${error.code}${where}: ${error.message}` : (state_reason ?? "no reason is recorded");
  return {
    code: "ended",
    text: `It has ${state === "FAILED" ? "failed" : "been cancelled"}${at}. ${why}`,
    advice: `To go on from there as a new run: millrace runs resume ${run_id} --from failed`,
  };
}

function cancelled({ run_id, cancel_requested }: RunRow): Reason[] {
  if (!cancel_requested) return [];
  const text = `Its cancellation was asked for at ${time(cancel_requested.at)}; its nodes are being stopped.`;
  return [{ code: "is_cancelled", text, advice: `To end it now: millrace runs cancel ${run_id} --terminate` }];
}

function unreachable(message: string): Reason {
  return {
    code: "temporal_unreachable",
    text: `Temporal does not answer (${message}); no run makes progress without it.`,
    advice: "See that TEMPORAL_ADDRESS can be reached: millrace doctor says more.",
  };
}

/** Temporal's view of an open run. */
function inTemporal(run: RunRow, { view, trouble, untaken, queues }: RunExamined): Reason[] {
  const runQueue = queues.find(({ queue }) => queue === "runs");
  const nodeQueue = queues.find(({ queue }) => queue === "nodes");
  if (run.run_at !== null && run.state === "PENDING" && Date.parse(run.run_at) > Date.now())
    return [{ code: "not_yet", text: `It is to start at ${time(run.run_at)} (run_at).` }];
  if (view === "not_found" && run.state === "PENDING") {
    return [
      {
        code: "not_started",
        text: `It was accepted at ${time(run.created_at)}, and its workflow has not been started yet.`,
        advice: "The sweeper of any api or worker of the queue `runs` starts it within seconds: is one running?",
      },
    ];
  }
  if (view !== "running") {
    return [
      {
        code: "workflow_missing",
        text:
          view === "not_found"
            ? "Temporal has no workflow of it: its history was removed, or the namespace is another one."
            : `Its workflow has ended in Temporal (${view}), and the record does not say so yet.`,
        advice: "The reconciler settles the record within minutes. It runs in each api and worker of the queue `runs`.",
      },
    ];
  }
  const reasons: Reason[] = [];
  if (trouble) {
    reasons.push({
      code: "is_stuck",
      text: `The last ${trouble.attempts} tasks of its workflow in a row ${trouble.timed_out ? "timed out" : "failed"}: it does not get on.`,
      advice:
        "Read the workers' logs. After an upgrade, go back to the version before. The service ends the run after a while.",
    });
  }
  if (runQueue?.pollers === 0) reasons.push(noWorker("runs", "the steps of its workflow", runQueue.name));
  if (untaken > 0 && nodeQueue?.pollers === 0) reasons.push(noWorker("nodes", "its nodes", nodeQueue.name));
  else if (untaken > 0 && nodeQueue) {
    const backlog = nodeQueue.backlog === null ? "" : `; ${nodeQueue.backlog} tasks wait in all`;
    reasons.push({
      code: "busy_workers",
      text: `${untaken} of its nodes wait for a free place: the ${nodeQueue.pollers} workers have as much as they take, or as much as they take of one organisation${backlog}.`,
      advice: "Add workers of the queue `nodes`, or raise MILLRACE_WORKER_ACTIVITIES.",
    });
  }
  return reasons;
}

function noWorker(queue: string, what: string, name: string): Reason {
  return {
    code: "no_worker",
    text: `No worker polls the task queue ${name}, which has ${what}.`,
    advice: `Start a worker with ${queue} in MILLRACE_WORKER_QUEUES, and the same MILLRACE_TASK_QUEUE.`,
  };
}

/** The open nodes in a run's record. */
async function inRecord(db: Database, run: RunRow): Promise<Reason[]> {
  const [nodes, pauses, children] = await Promise.all([
    db.system((connection) => unfinishedNodes(connection, run.run_id)),
    db.system((connection) => listPauses(connection, run.run_id)),
    db.system((connection) => liveChildren(connection, run.run_id)),
  ]);
  const open = pauses.filter(({ status }) => status === "waiting");
  const people = open.map(({ pause_id, kind, path, created_at, expires_at, on_timeout }): Reason => ({
    code: "waits_for_person",
    text: `It waits for a person at ${path} (${kind}) since ${time(created_at)}${expires_at === null ? ", without a limit" : `, until ${time(expires_at)}; then: ${on_timeout}`}.`,
    advice: `To answer: millrace runs resume ${run.run_id} --pause ${pause_id} --action <id>`,
  }));
  const retrying = nodes.filter((node) => node.state === "RETRYING").map((node) => retry(node));
  const runs = children.map((id): Reason => ({
    code: "waits_for_run",
    text: `It waits for the run ${id} of a sub-flow.`,
    advice: `millrace doctor --explain ${id}`,
  }));
  // Nodes around other nodes only wait for these.
  const leaves = nodes.filter(
    ({ path, state, type }) =>
      state === "RUNNING" && type !== "subflow" && !nodes.some((inner) => isInside(inner.path, path)),
  );
  return [...named(people), ...named(retrying), ...named(runs), ...named(leaves.map(executing))];
}

function retry({ path, attempts, error, next_attempt_at }: NodeRunRow): Reason {
  const last = error ? ` The last one: ${error.code}: ${error.message}` : "";
  if (next_attempt_at === null || error === null)
    return { code: "executes", text: `${path} is being tried again: attempt ${attempts} is under way.` };
  const seconds = Math.ceil((Date.parse(next_attempt_at) - Date.now()) / 1000);
  const when = seconds > 0 ? `in ${seconds} s, at ${time(next_attempt_at)}` : "now";
  return {
    code: "waits_for_retry",
    text: `${path} is tried again ${when}, after ${attempts} failed ${attempts === 1 ? "attempt" : "attempts"}.${last}`,
    advice: "Fix the connection, the address or the service that the error names. The next attempt needs nothing else.",
  };
}

function executing({ path, type, started_at }: NodeRunRow): Reason {
  const since = started_at === null ? "" : ` since ${time(started_at)}`;
  if (type === "delay") return { code: "waits_for_time", text: `${path} waits for its time${since}.` };
  return { code: "executes", text: `${path} (${type}) is being executed${since}.` };
}

const isInside = (path: string, outer: string): boolean =>
  path !== outer && (path.startsWith(`${outer}/`) || path.startsWith(`${outer}[`));

function named(reasons: readonly Reason[]): Reason[] {
  const [first] = reasons;
  if (!first || reasons.length <= MAX_NAMED) return [...reasons];
  const rest: Reason = { code: first.code, text: `And ${reasons.length - MAX_NAMED} more of that kind.` };
  return [...reasons.slice(0, MAX_NAMED), rest];
}

/** Without fractions of seconds. */
function time(at: string): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
}
