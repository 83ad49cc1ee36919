import { isTerminal } from "../../domain/runs/run.ts";
import type { RunError, TerminalState } from "../../domain/runs/run.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database, Db } from "../../stores/db.ts";
import type { RunFeed } from "../../stores/runs/run-feed.ts";
import type { PlanCache } from "../projects/plans.ts";
import { undeliveredPauses } from "../../stores/runs/pauses.ts";
import { getRun, takeRunsToCheck } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { markStuck, STUCK } from "../../stores/runs/stuck-runs.ts";
import { noteRestart, sinceRestart } from "../../stores/runs/run-restarts.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import type { TaskTrouble } from "../../temporal/trouble.ts";
import type { RunLimits } from "./create-run.ts";
import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { unfinishedNodes } from "../../stores/runs/node-runs.ts";
import type { RunObserver } from "./run-observer.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { keepsInputs, restartInput } from "./restart-run.ts";
import type { StartInBackground } from "./background-starts.ts";
import { cancelledEnd, settleRun } from "./settle-run.ts";
import type { StartInputs } from "./start-inputs.ts";

export interface SweeperDeps {
  readonly db: Database;
  readonly starter: RunStarter;
  readonly plans: PlanCache;
  readonly startInputs: StartInputs;
  readonly feed: RunFeed;
  readonly blobs: BlobStore;
  readonly limits: Pick<RunLimits, "max_iterations">;
  readonly observer: RunObserver;
  readonly recorder: RunRecorder;
  readonly startInBackground: StartInBackground;
  readonly onSwept: (
    outcome: "started" | "restarted" | "signalled" | "stuck" | "settled" | "error",
    runId: string | null,
    error?: unknown,
  ) => void;
  readonly intervalMs: number;
  /** Age without progress from which a run is compared with Temporal's own view (ms). */
  readonly stuckAfterMs: number;
  /** Timeouts in a row of a run's workflow tasks before the run is ended. */
  readonly stuckAttempts: number;
}

const BATCH = 100;
/** A signal that a living workflow has not taken by then was lost (ms). */
const SIGNAL_AGAIN_MS = 5000;

/**
 * Looks after what dead processes left behind: starts runs whose workflow was never started, repeats lost signals, and
 * settles runs whose workflow has ended silently or is stuck. Any number may run: rows are taken with SKIP LOCKED.
 */
export function startSweeper(deps: SweeperDeps): Periodic {
  return periodically(
    deps.intervalMs,
    (isClosed) => sweep(deps, isClosed),
    (error) => deps.onSwept("error", null, error),
  );
}

/** Longest delay of a process's first poll for steps of runs (ms). */
const FIRST_LOOK_MS = 10_000;

/**
 * Checks the due runs once, before the process polls for steps of runs. A run whose steps crash every process that
 * takes them is thus found by one that has not taken any yet. Never rejects.
 */
export async function sweepBeforePolling(deps: SweeperDeps): Promise<void> {
  const until = Date.now() + FIRST_LOOK_MS;
  await check(deps, () => Date.now() > until).catch((error: unknown) => deps.onSwept("error", null, error));
}

async function check(deps: SweeperDeps, isClosed: () => boolean): Promise<void> {
  await lookAtEach(deps, await deps.db.system((connection) => runsToCheck(deps, connection)), isClosed);
}

const runsToCheck = ({ stuckAfterMs }: SweeperDeps, connection: Db): Promise<RunRow[]> =>
  takeRunsToCheck(connection, BATCH, stuckAfterMs);

/** Checks due runs, and after a full batch the next ones. */
async function lookAtEach(deps: SweeperDeps, first: readonly RunRow[], isClosed: () => boolean): Promise<void> {
  const onError = (error: unknown, { run_id }: RunRow): void => deps.onSwept("error", run_id, error);
  let due = first;
  for (;;) {
    await eachRoundRobin(due, (run) => look(deps, run), { isClosed, onError });
    if (due.length < BATCH || isClosed()) return;
    due = await deps.db.system((connection) => runsToCheck(deps, connection));
  }
}

async function sweep(deps: SweeperDeps, isClosed: () => boolean): Promise<void> {
  const { db, starter, onSwept } = deps;
  // One transaction, so that an idle service costs the database little.
  const { due, pauses } = await db.systemTransaction(async (connection) => ({
    due: await runsToCheck(deps, connection),
    pauses: await undeliveredPauses(connection, SIGNAL_AGAIN_MS, BATCH),
  }));
  await lookAtEach(deps, due, isClosed);
  const signal = async ({ run_id, workflow_id, pause_id, resolution }: (typeof pauses)[number]): Promise<void> => {
    if (!resolution) return;
    if (await starter.signalResume(workflow_id, pause_id, resolution)) onSwept("signalled", run_id);
  };
  const onError = (error: unknown, { run_id }: { readonly run_id: string }): void => onSwept("error", run_id, error);
  await eachRoundRobin(pauses, signal, { isClosed, onError });
}

async function look(deps: SweeperDeps, run: RunRow): Promise<void> {
  const { view, trouble } = await deps.starter.look(run.run_id);
  if (view === "running") {
    if (trouble) return endStuck(deps, run, trouble);
    if (run.state_reason === STUCK) await deps.db.org(run.org_id, (db) => markStuck(db, run.run_id, false));
    if (!run.cancel_requested) return;
    await deps.starter.signalCancel(run.run_id, run.cancel_requested.reason);
    deps.onSwept("signalled", run.run_id);
    return;
  }
  if (view === "not_found" && run.state === "PENDING") return startLate(deps, run);
  // A workflow that Temporal does not know counts as lost only if the run is older than this.
  if (view === "not_found" && ageMs(run) < deps.stuckAfterMs / 2) return;
  if (view === "completed") return recover(deps, run);
  if (view === "not_found") return goOn(deps, run);
  // When a parent's workflow is lost, its children end this way too, and the restarted parent starts them again.
  if (view === "terminated" && !run.cancel_requested && (await isStartedByParent(deps, run))) return;
  await settle(deps, run, view);
}

/** The workflow has ended but the write of its end was lost. Its result has what the record needs. */
async function recover(deps: SweeperDeps, run: RunRow): Promise<void> {
  const { outcome, temporal_run_id, started_at } = await deps.starter.outcome(run.run_id);
  const { state, reason, outputs, error, progress } = outcome;
  const { org_id, run_id, project_id, flow_version } = run;
  const now = new Date().toISOString();
  const unfinished = await deps.db.org(org_id, (connection) => unfinishedNodes(connection, run_id));
  const identity = { org_id, run_id, project_id, flow_version, temporal_run_id, started_at };
  // The record still shows a pause that was answered since.
  if (run.state === "PAUSED" && state === "COMPLETED")
    await deps.recorder.record({ run: identity, progress, nodes: [], state: "RESUMED" });
  await deps.recorder.record({
    run: identity,
    progress,
    // The ends of these nodes were lost with the run's. All we know is that they have ended.
    nodes: unfinished.map(({ node_id, type, path, attempts, ...node }) => ({
      node_id,
      type,
      path,
      attempts,
      state: state === "COMPLETED" ? ("COMPLETED" as const) : ("CANCELLED" as const),
      started_at: node.started_at,
      finished_at: now,
      announced: true,
    })),
    state,
    state_reason: reason,
    outputs,
    error,
  });
  deps.onSwept("settled", run_id);
}

/**
 * Ends a run whose workflow is stuck. One to be cancelled ends at once, since its workflow takes no signal. Others end
 * after some attempts: twice as many if the tasks fail with an error of the code, which harms nobody else, and which a
 * rollback to an earlier version may fix.
 */
async function endStuck(deps: SweeperDeps, run: RunRow, { attempts, timed_out }: TaskTrouble): Promise<void> {
  const { org_id, run_id } = run;
  await deps.db.org(org_id, (db) => markStuck(db, run_id, true));
  if (!run.cancel_requested && attempts < deps.stuckAttempts * (timed_out ? 1 : 2))
    return deps.onSwept("stuck", run_id);
  await deps.starter.terminate(run_id, STUCK);
  const how = timed_out ? "timed out" : "failed";
  const message = `The run's workflow does not get on: ${attempts} tasks of it in a row have ${how}. Temporal's history and the logs of the workers tell why.`;
  const settled = await settleRun(deps, org_id, run_id, ({ cancel_requested }) =>
    cancel_requested
      ? cancelledEnd(cancel_requested.reason)
      : {
          state: "FAILED",
          reason: STUCK,
          error: { code: STUCK, message, node_id: null, path: null, attempt: attempts, retryable: false },
        },
  );
  if (settled) deps.onSwept("settled", run_id);
}

/** The workflow was never started, or Temporal's database lost it before anything had happened. */
async function startLate(deps: SweeperDeps, run: RunRow): Promise<void> {
  if (run.cancel_requested) return settle(deps, run, "cancelled");
  if (run.parent_run_id !== null && run.run_type === "sub_workflow") {
    const parent = await deps.db.system((connection) => getRun(connection, run.parent_run_id ?? ""));
    // Its parent starts it. If the parent has ended, nobody wants it any more.
    if (parent && !isTerminal(parent.state)) return;
    return settle(deps, run, "cancelled");
  }
  // Its experiment starts it.
  if (run.run_type === "batch") return;
  const found = await deps.plans.find(run);
  if (!found) return settle(deps, run, "not_found");
  const delayMs = run.run_at === null ? undefined : Math.max(0, Date.parse(run.run_at) - Date.now());
  await deps.startInBackground(async () =>
    deps.starter.start({ ...(await deps.startInputs.open(run)), plan: found.plan }, { urgency: "later", delayMs }),
  );
  deps.onSwept("started", run.run_id);
}

/** How many lost workflows of a run are replaced. */
const MAX_RESTARTS = 3;
/** How long a child waits until its restarted parent starts it again (ms). */
const PARENT_STARTS_WITHIN_MS = 600_000;

/** Whether the run is a sub-flow whose parent was restarted from its record not long ago, and will start it again. */
async function isStartedByParent({ db }: SweeperDeps, { org_id, run_type, parent_run_id }: RunRow): Promise<boolean> {
  if (run_type !== "sub_workflow" || parent_run_id === null) return false;
  return db.org(org_id, async (connection) => {
    const parent = await getRun(connection, parent_run_id);
    return parent !== null && !isTerminal(parent.state) && (await wasJustRestarted(connection, parent_run_id));
  });
}

async function wasJustRestarted(connection: Db, runId: string): Promise<boolean> {
  const since = await sinceRestart(connection, runId);
  return since !== null && since < PARENT_STARTS_WITHIN_MS;
}

/**
 * The workflow is lost, with Temporal's database or by somebody's hand. The run goes on from its record in a new one.
 */
async function goOn(deps: SweeperDeps, run: RunRow): Promise<void> {
  const { db, onSwept, starter } = deps;
  const { org_id, run_id, parent_run_id } = run;
  if (run.cancel_requested) return settle(deps, run, "cancelled");
  if (run.run_type === "sub_workflow" && parent_run_id !== null) {
    const parent = await db.system((connection) => getRun(connection, parent_run_id));
    if (!parent || isTerminal(parent.state)) return settle(deps, run, "cancelled");
    if ((await starter.look(parent_run_id)).view === "not_found") return;
    if (await db.org(org_id, (connection) => wasJustRestarted(connection, parent_run_id))) return;
    return settle(deps, run, "not_found");
  }
  const found = await deps.plans.find(run);
  // An experiment repeats its own rows.
  if (!found || run.run_type === "batch" || !keepsInputs(found.plan)) return settle(deps, run, "not_found");
  const restarts = await db.org(org_id, (connection) => noteRestart(connection, org_id, run_id));
  if (restarts > MAX_RESTARTS) return settle(deps, run, "not_found");
  const input = await restartInput(deps, run, found.plan);
  await starter.start({ ...input, plan: found.plan }, { urgency: "later" });
  onSwept("restarted", run_id);
}

const ENDS = {
  cancelled: ["CANCELLED", "cancelled", "The run was cancelled."],
  terminated: ["CANCELLED", "workflow_terminated", "The run's workflow was terminated from outside."],
  stuck: ["CANCELLED", STUCK, "The run's workflow did not get on, and was terminated."],
  timed_out: ["FAILED", "run_timeout", "The run's workflow ran out of time before it could end itself."],
  failed: ["FAILED", "workflow_failed", "The run's workflow failed; Temporal's history of it tells why."],
  not_found: [
    "FAILED",
    "workflow_lost",
    "Temporal does not know the run's workflow any more (was its database lost?).",
  ],
} as const satisfies Record<string, readonly [Exclude<TerminalState, "COMPLETED">, string, string]>;

/**
 * Gives a run without a workflow an honest end. A workflow that ended regularly has written its state before, and that
 * stays.
 */
async function settle(deps: SweeperDeps, run: RunRow, view: Exclude<keyof typeof ENDS, "stuck">): Promise<void> {
  // The process that terminates a stuck workflow may die before it has recorded why.
  const [wanted, reason, message] = ENDS[view === "terminated" && run.state_reason === STUCK ? "stuck" : view];
  // The stuck workflow may be one of the run's slices.
  if (view !== "not_found") await deps.starter.terminate(run.run_id, reason);
  const settled = await settleRun(deps, run.org_id, run.run_id, ({ cancel_requested }) => {
    // An operator's termination is a failure, because nobody asked Millrace for it; unless there is also a request to
    // cancel.
    const state = view === "terminated" && !cancel_requested ? "FAILED" : wanted;
    const retryable = reason !== STUCK;
    const error: RunError = { code: reason, message, node_id: null, path: null, attempt: 1, retryable };
    return { state, reason: cancel_requested?.reason ?? reason, error: state === "FAILED" ? error : null };
  });
  if (settled) deps.onSwept("settled", run.run_id);
}

function ageMs(run: RunRow): number {
  return Date.now() - Date.parse(run.created_at);
}
