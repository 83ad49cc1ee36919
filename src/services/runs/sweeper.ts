import { isTerminal, type RunError, type TerminalState } from "../../domain/runs/run.ts";
import { undeliveredPauses } from "../../stores/runs/pauses.ts";
import { getRun, takeRunsToCheck, type RunRow } from "../../stores/runs/runs.ts";
import { markStuck, STUCK } from "../../stores/runs/stuck-runs.ts";
import { noteRestart, sinceRestart } from "../../stores/runs/run-restarts.ts";
import type { TaskTrouble } from "../../temporal/trouble.ts";
import type { RunLimits } from "./create-run.ts";
import { eachRoundRobin, periodically, type Periodic } from "../../platform/periodically.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { startsBatchRun } from "../evals/starts-batch-run.ts";
import { endOpenNodes, cancelledEnd, settleRun } from "./settle-run.ts";
import { keepsInputs, restartInput } from "./restart-run.ts";
import type { StartInBackground } from "./background-starts.ts";
import { delayUntil } from "./start-inputs.ts";
import type { Parts } from "../parts.ts";

export interface SweeperDeps extends Parts<"db" | "starter" | "feed" | "blobs" | "plans" | "startInputs" | "observer"> {
  readonly limits: Pick<RunLimits, "max_iterations">;
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
  /** Consecutive timeouts of a run's workflow tasks after which the run is ended. */
  readonly stuckAttempts: number;
}

const BATCH = 100;
/** Age after which an unprocessed signal counts as lost (ms). */
const SIGNAL_AGAIN_MS = 5000;

/**
 * Repairs what dead processes left behind: starts runs whose workflow was never started, repeats lost signals, and
 * finalises runs whose workflow has ended silently or is stuck. Any number may run, because rows are taken with SKIP
 * LOCKED.
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
 * Checks the due runs once, before the process polls for steps of runs. So a run whose steps crash every process is
 * found before they can crash this one. Never rejects.
 */
export async function sweepBeforePolling(deps: SweeperDeps): Promise<void> {
  const until = Date.now() + FIRST_LOOK_MS;
  await lookAtDue(deps, () => Date.now() > until).catch((error: unknown) => deps.onSwept("error", null, error));
}

const onErrorOf =
  ({ onSwept }: SweeperDeps) =>
  (error: unknown, { run_id }: Pick<RunRow, "run_id">): void =>
    onSwept("error", run_id, error);

/** Checks due runs in batches until a batch is not full. */
async function lookAtDue(deps: SweeperDeps, isClosed: () => boolean, first?: readonly RunRow[]): Promise<void> {
  const take = (): Promise<RunRow[]> => deps.db.system((db) => takeRunsToCheck(db, BATCH, deps.stuckAfterMs));
  for (let due = first ?? (await take()); ; due = await take()) {
    await eachRoundRobin(due, (run) => look(deps, run), { isClosed, onError: onErrorOf(deps) });
    if (due.length < BATCH || isClosed()) return;
  }
}

async function sweep(deps: SweeperDeps, isClosed: () => boolean): Promise<void> {
  const { db, starter, onSwept } = deps;
  // One transaction for both queries, so that an idle installation costs the database little.
  const { due, pauses } = await db.systemTransaction(async (connection) => ({
    due: await takeRunsToCheck(connection, BATCH, deps.stuckAfterMs),
    pauses: await undeliveredPauses(connection, SIGNAL_AGAIN_MS, BATCH),
  }));
  await lookAtDue(deps, isClosed, due);
  const signal = async ({ run_id, workflow_id, pause_id, resolution }: (typeof pauses)[number]): Promise<void> => {
    if (!resolution) return;
    if (await starter.signalResume(workflow_id, pause_id, resolution)) onSwept("signalled", run_id);
  };
  await eachRoundRobin(pauses, signal, { isClosed, onError: onErrorOf(deps) });
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
  // A missing workflow counts as lost only for runs above a certain age, because younger ones may just be starting.
  if (view === "not_found" && Date.now() - Date.parse(run.created_at) < deps.stuckAfterMs / 2) return;
  if (view === "completed") return recover(deps, run);
  if (view === "not_found") return goOn(deps, run);
  // The child runs of a lost parent workflow are terminated as well; the restarted parent starts them again.
  if (view === "terminated" && !run.cancel_requested && (await isStartedByParent(deps, run))) return;
  await settle(deps, run, view);
}

/** Finalises a run whose workflow has completed but whose end was not recorded, from the workflow's result. */
async function recover(deps: SweeperDeps, run: RunRow): Promise<void> {
  const { outcome, temporal_run_id, started_at } = await deps.starter.outcome(run.run_id);
  const { state, reason, outputs, error, progress } = outcome;
  const { org_id, run_id, project_id, flow_version } = run;
  const ended = state === "COMPLETED" ? "COMPLETED" : "CANCELLED";
  const identity = { org_id, run_id, project_id, flow_version, temporal_run_id, started_at };
  // The record still shows a pause that was decided since, so the run must be RESUMED before it can be COMPLETED.
  if (run.state === "PAUSED" && state === "COMPLETED")
    await deps.recorder.record({ run: identity, progress, nodes: [], state: "RESUMED" });
  await deps.recorder.record({
    run: identity,
    progress,
    // The ends of these nodes were lost too, so they get an end that matches the run's.
    nodes: await deps.db.org(org_id, (connection) => endOpenNodes(connection, run_id, ended)),
    state,
    state_reason: reason,
    outputs,
    error,
  });
  deps.onSwept("settled", run_id);
}

/**
 * Ends a run whose workflow is stuck. A run with a pending cancellation ends immediately, because a stuck workflow
 * cannot receive the signal. Others end after `stuckAttempts` timeouts, or twice as many failures, since an error in
 * the code affects no other run and a rollback to an earlier version may fix it.
 */
async function endStuck(deps: SweeperDeps, run: RunRow, { attempts, timed_out }: TaskTrouble): Promise<void> {
  const { org_id, run_id } = run;
  await deps.db.org(org_id, (db) => markStuck(db, run_id, true));
  if (!run.cancel_requested && attempts < deps.stuckAttempts * (timed_out ? 1 : 2))
    return deps.onSwept("stuck", run_id);
  await deps.starter.terminate(run_id, STUCK);
  const how = timed_out ? "timed out" : "failed";
  const message = `The run's workflow is stuck: ${attempts} workflow tasks in a row ${how}. See the workflow history in Temporal and the worker logs.`;
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

/** Starts a pending run whose workflow was never started, or was lost before it recorded anything. */
async function startLate(deps: SweeperDeps, run: RunRow): Promise<void> {
  if (run.cancel_requested) return settle(deps, run, "cancelled");
  const parent = await parentOf(deps, run);
  // The parent starts it; if the parent has finished, the child run is no longer needed.
  if (parent) return parent.isLive ? undefined : settle(deps, run, "cancelled");
  if (run.run_type === "batch") {
    const isStarted = await deps.db.org(run.org_id, (connection) => startsBatchRun(connection, run.metadata));
    return isStarted ? undefined : settle(deps, run, "cancelled");
  }
  const found = await deps.plans.find(run);
  if (!found) return settle(deps, run, "not_found");
  await deps.startInBackground(async () =>
    deps.starter.start(
      { ...(await deps.startInputs.open(run)), plan: found.plan },
      { urgency: "later", delayMs: delayUntil(run.run_at) },
    ),
  );
  deps.onSwept("started", run.run_id);
}

/** Most lost workflows that are replaced per run. */
const MAX_RESTARTS = 3;
/** How long a child run waits for its restarted parent to start it again (ms). */
const PARENT_STARTS_WITHIN_MS = 600_000;

/** The parent of a child run, and whether it is unfinished; null for any other run. */
async function parentOf({ db }: SweeperDeps, { run_type, parent_run_id: run_id }: RunRow) {
  if (run_type !== "sub_workflow" || run_id === null) return null;
  const parent = await db.system((connection) => getRun(connection, run_id));
  return { run_id, isLive: parent !== null && !isTerminal(parent.state) };
}

/** Whether the run is a child run whose parent was recently restarted from its record and will start it again. */
async function isStartedByParent(deps: SweeperDeps, run: RunRow): Promise<boolean> {
  const parent = await parentOf(deps, run);
  return parent?.isLive === true && (await wasJustRestarted(deps, run.org_id, parent.run_id));
}

async function wasJustRestarted({ db }: SweeperDeps, orgId: string, runId: string): Promise<boolean> {
  const since = await db.org(orgId, (connection) => sinceRestart(connection, runId));
  return since !== null && since < PARENT_STARTS_WITHIN_MS;
}

/**
 * Continues a run from its record in a new workflow, because its workflow was lost with Temporal's database or deleted
 * by a person.
 */
async function goOn(deps: SweeperDeps, run: RunRow): Promise<void> {
  const { db, onSwept, starter } = deps;
  const { org_id, run_id } = run;
  if (run.cancel_requested) return settle(deps, run, "cancelled");
  const parent = await parentOf(deps, run);
  if (parent) {
    if (!parent.isLive) return settle(deps, run, "cancelled");
    if ((await starter.look(parent.run_id)).view === "not_found") return;
    return (await wasJustRestarted(deps, org_id, parent.run_id)) ? undefined : settle(deps, run, "not_found");
  }
  const found = await deps.plans.find(run);
  // Experiments repeat their rows themselves, so their runs are not restarted.
  if (!found || run.run_type === "batch" || !keepsInputs(found.plan)) return settle(deps, run, "not_found");
  const restarts = await db.org(org_id, (connection) => noteRestart(connection, org_id, run_id));
  if (restarts > MAX_RESTARTS) return settle(deps, run, "not_found");
  const input = await restartInput(deps, run, found.plan);
  await starter.start({ ...input, plan: found.plan }, { urgency: "later" });
  onSwept("restarted", run_id);
}

const ENDS = {
  cancelled: ["CANCELLED", "cancelled", "The run was cancelled."],
  terminated: ["CANCELLED", "workflow_terminated", "The run's workflow was terminated outside Millrace."],
  stuck: ["CANCELLED", STUCK, "The run's workflow was stuck and was terminated."],
  timed_out: ["FAILED", "run_timeout", "The run's workflow timed out before it could end itself."],
  failed: ["FAILED", "workflow_failed", "The run's workflow failed. See its history in Temporal."],
  not_found: ["FAILED", "workflow_lost", "Temporal has no workflow for this run. Its history may have been deleted."],
} as const satisfies Record<string, readonly [Exclude<TerminalState, "COMPLETED">, string, string]>;

/** Finalises a run that has no running workflow. A state that the workflow has already written is kept. */
async function settle(deps: SweeperDeps, run: RunRow, view: Exclude<keyof typeof ENDS, "stuck">): Promise<void> {
  // The process that terminated a stuck workflow may have died before it recorded the reason.
  const [wanted, reason, message] = ENDS[view === "terminated" && run.state_reason === STUCK ? "stuck" : view];
  // Terminates the run's slices as well, since the stuck workflow may be one of them.
  if (view !== "not_found") await deps.starter.terminate(run.run_id, reason);
  const settled = await settleRun(deps, run.org_id, run.run_id, ({ cancel_requested }) => {
    // A termination in Temporal counts as a failure unless Millrace was also asked to cancel the run.
    const state = view === "terminated" && !cancel_requested ? "FAILED" : wanted;
    const retryable = reason !== STUCK;
    const error: RunError = { code: reason, message, node_id: null, path: null, attempt: 1, retryable };
    return { state, reason: cancel_requested?.reason ?? reason, error: state === "FAILED" ? error : null };
  });
  if (settled) deps.onSwept("settled", run.run_id);
}
