import {
  verdictOf,
  type ExperimentEndInput,
  type ExperimentJobInput,
  type ExperimentState,
  type RowState,
  type Verdict,
} from "../../domain/evals/experiment.ts";
import { derivedId } from "../../domain/derived-id.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { Db } from "../../stores/db.ts";
import { endJob, findJob, type JobRow } from "../../stores/evals/experiment-jobs.ts";
import { cancelRows, endRows, ranRows, type RanRow, type RowEnd } from "../../stores/evals/experiment-rows.ts";
import { addCost, findExperiment, moveExperiment, type ExperimentRow } from "../../stores/evals/experiments.ts";
import { insertEvent } from "../../stores/outbox.ts";
import { requestBatchCancel } from "../runs/batch-runs.ts";
import { statusOf } from "./experiment-status.ts";
import { gatesOf } from "./experiments.ts";
import type { Parts } from "../parts.ts";

export type EndExperimentDeps = Parts<"db">;

export function isOpen({ state }: JobRow): boolean {
  return state === "pending" || state === "running";
}

/** The state of a row whose run has finished. */
export function stateOf({ run_state, state_reason }: RanRow): RowState {
  if (run_state === "COMPLETED") return "completed";
  return run_state === "FAILED" || state_reason === "run_paused" ? "failed" : "cancelled";
}

const PAUSED = { code: "run_paused", message: "The run paused for an approval. Experiments cannot answer approvals." };

/** The end of a row, derived from the end of its run. */
export function endOf(row: RanRow): RowEnd {
  const { place, latency_ms, cost_usd, tokens, error, state_reason } = row;
  const why = state_reason === "run_paused" ? PAUSED : error && { code: error.code, message: error.message };
  return { place, state: stateOf(row), error: why, latency_ms, cost_usd, tokens };
}

/**
 * Ends the rows that no lane will end any more: rows with a finished run get its end; the others are cancelled,
 * together with runs that have not started. Running workflows are cancelled with the job's workflow.
 */
async function endOpenRows(connection: Db, experimentId: string): Promise<void> {
  const rows = await ranRows(connection, experimentId, "running");
  const ended = rows.filter(({ run_state }) => isTerminal(run_state));
  await addCost(connection, experimentId, await endRows(connection, experimentId, ended.map(endOf)));
  await requestBatchCancel(connection, await cancelRows(connection, experimentId));
}

/**
 * Ends a job. Unless it is an export, the experiment ends in the same transaction, with its status, verdict and event.
 */
export async function endExperiment({ db }: EndExperimentDeps, input: ExperimentEndInput): Promise<void> {
  const { org_id, experiment_id, job_id, kind, cancelled, failure } = input;
  await db.orgTransaction(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id, true);
    const job = await findJob(connection, job_id, "for update");
    if (experiment === null || job === null || !isOpen(job)) return;
    const isCancelled = cancelled || job.cancel;
    const errors = failure === null ? [] : [{ code: input.code ?? "internal_error", message: failure.slice(0, 1000) }];
    const state = isCancelled ? "cancelled" : failure === null ? "completed" : "failed";
    if (kind === "export") {
      await endJob(connection, job_id, { state, done: job.done, errors, blob_key: null });
      return;
    }
    if (isCancelled || failure !== null) await endOpenRows(connection, experiment_id);
    const ended = await statusOf(connection, experiment);
    const { rows, pending, running } = ended.counts;
    const to: ExperimentState = isCancelled
      ? "CANCELLED"
      : failure !== null || rows === 0
        ? "FAILED"
        : pending + running > 0
          ? "PARTIAL"
          : "COMPLETED";
    const error = failure !== null && !isCancelled ? (errors[0] ?? null) : rows === 0 && !isCancelled ? NO_ROWS : null;
    const verdict = verdictOf(to, await gatesOf(connection, experiment, ended));
    await moveExperiment(connection, experiment_id, to, { verdict, error, result: ended });
    await endJob(connection, job_id, {
      state,
      done: kind === "score_only" ? job.done : Math.max(0, job.total - pending - running),
      errors: error === null ? [] : [error],
      blob_key: null,
    });
    if (to !== "CANCELLED")
      await announce(connection, experiment, job_id, { state: to, verdict, unscored: ended.scores.unscored });
  });
}

/** Fails a job that could not be ended regularly. */
export async function failExperiment(
  { db }: EndExperimentDeps,
  { org_id, experiment_id, job_id, kind }: ExperimentJobInput,
  error: { readonly code: string; readonly message: string },
): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id, true);
    const job = await findJob(connection, job_id, "for update");
    if (experiment === null || job === null || !isOpen(job)) return;
    await endJob(connection, job_id, { state: "failed", done: job.done, errors: [error], blob_key: null });
    if (kind === "export") return;
    await endOpenRows(connection, experiment_id);
    await moveExperiment(connection, experiment_id, "FAILED", { verdict: null, error, result: null });
    await announce(connection, experiment, job_id, { state: "FAILED", verdict: null, unscored: 0 });
  });
}

const NO_ROWS = { code: "no_rows", message: "This version of the dataset has no active rows in these splits." };

async function announce(
  connection: Db,
  { org_id, experiment_id, name, project_id }: ExperimentRow,
  jobId: string,
  end: { readonly state: ExperimentState; readonly verdict: Verdict | null; readonly unscored: number },
): Promise<void> {
  const type = end.state === "FAILED" ? "failed" : "completed";
  await insertEvent(connection, {
    event_id: derivedId(jobId, type),
    org_id,
    type: `evals.experiment.${type}`,
    project_id,
    data: { experiment_id, name, project_id, job_id: jobId, ...end },
  });
}
