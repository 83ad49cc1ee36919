import { uuidv7 } from "uuidv7";
import { verdictOf } from "../../domain/evals/experiment.ts";
import type {
  ExperimentEndInput,
  ExperimentJobInput,
  ExperimentLanes,
  ExperimentState,
  LaneInput,
  LaneRow,
  RowState,
  Verdict,
} from "../../domain/evals/experiment.ts";
import { derivedId, digestId } from "../../domain/derived-id.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import type { Database, Db } from "../../stores/db.ts";
import { endJob, findJob, noteJob } from "../../stores/evals/experiment-jobs.ts";
import type { JobRow } from "../../stores/evals/experiment-jobs.ts";
import {
  assignRuns,
  cancelRows,
  endRows,
  makeRows,
  openRows,
  ranRows,
  resetRows,
} from "../../stores/evals/experiment-rows.ts";
import type { OpenRow, RanRow, RowEnd } from "../../stores/evals/experiment-rows.ts";
import { insertEvent } from "../../stores/outbox.ts";
import {
  addCost,
  findExperiment,
  moveExperiment,
  noteProgress,
  claimProgressUpdate,
} from "../../stores/evals/experiments.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";
import type { PlanCache } from "../projects/plans.ts";
import {
  batchInputOf,
  batchRunInput,
  insertBatchRuns,
  prepareBatchRun,
  requestBatchCancel,
  sealBatchRuns,
} from "../runs/batch-runs.ts";
import type { NewBatchRun } from "../runs/batch-runs.ts";
import type { RunLimits } from "../runs/create-run.ts";
import type { StartInputs } from "../runs/start-inputs.ts";
import { statusOf } from "./experiment-status.ts";
import { gatesOf } from "./experiments.ts";
import { scoreRuns } from "./score-runs.ts";
import type { Scorer } from "./scorer.ts";

/** What running experiments needs. */
export interface RunExperimentDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  readonly plans: PlanCache;
  readonly startInputs: StartInputs;
  readonly scorer: Scorer;
  readonly limits: RunLimits & { readonly max_input_bytes: number };
}

/** Most workflows that share the rows of an experiment. */
const MAX_LANES = 4;
/** Most rows that a lane takes at once, and the longest sum of their inputs (characters). */
const MAX_TAKEN = 50;
const TAKEN_CHARS = 1024 * 1024;
const SCORED_AGAIN = 100;

/** Starts a job: makes the experiment's rows, or resets the rows to run again. Null if there is nothing to run. */
export async function beginExperiment(
  { db }: Pick<RunExperimentDeps, "db">,
  { org_id, experiment_id, job_id, kind }: ExperimentJobInput,
): Promise<ExperimentLanes | null> {
  return await db.orgTransaction(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id, true);
    const job = await findJob(connection, job_id);
    if (experiment === null || job === null || job.cancel || !isOpen(job)) return null;
    // Otherwise an earlier attempt, whose answer was lost, has started it.
    if (experiment.state === "QUEUED") {
      const rows = await makeRows(connection, experiment_id);
      const { row_ids = null } = job.options;
      const total =
        kind === "run" || kind === "score_only"
          ? rows
          : await resetRows(connection, experiment_id, kind === "rerun_rows" ? (row_ids ?? []) : null);
      await noteJob(connection, job_id, kind === "score_only" ? 0 : null, total);
      await moveExperiment(connection, experiment_id, "RUNNING");
    }
    const lanes = Math.min(MAX_LANES, experiment.max_concurrency);
    return { lanes, concurrency: Math.ceil(experiment.max_concurrency / lanes) };
  });
}

function isOpen({ state }: JobRow): boolean {
  return state === "pending" || state === "running";
}

/** Inserts the runs of a lane's next rows and returns them. However often it is called, there is one run a row. */
export async function nextRows(
  deps: RunExperimentDeps,
  input: LaneInput,
): Promise<{ readonly rows: LaneRow[]; readonly more: boolean }> {
  const { db, blobs, plans, limits } = deps;
  const { org_id, experiment_id, job_id } = input;
  const nothing = { rows: [], more: false };
  const found = await db.org(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id);
    const job = await findJob(connection, job_id);
    if (experiment === null || job === null || job.cancel || isSpent(experiment)) return null;
    // With a budget, it takes no more rows than can run at once: taken rows are run.
    const taken = Math.min(MAX_TAKEN, experiment.max_cost_usd === null ? 2 * input.concurrency : input.concurrency);
    return { experiment, taken, open: await openRows(connection, experiment_id, input, taken) };
  });
  if (found === null || found.open.length === 0) return nothing;
  const { experiment, taken, open } = found;
  const { project_id, flow_version } = experiment;
  const { plan } = await plans.get({ org_id, project_id, flow_version });
  const rows: LaneRow[] = [];
  const made: Array<{ readonly place: number; readonly row: NewBatchRun }> = [];
  const refused: RowEnd[] = [];
  let chars = 0;
  for (const row of open) {
    if (row.run_id !== null) {
      const runId = row.run_id;
      const start = await db.org(org_id, (connection) => batchRunInput(deps.startInputs, connection, runId));
      chars += JSON.stringify(start).length;
      rows.push({ place: row.place, start });
    } else {
      const run_id = runIdOf(experiment_id, row);
      const metadata = { experiment_id, row_id: row.row_id, repetition: row.repetition };
      const prepared = await prepareBatchRun(blobs, limits, {
        org_id,
        run_id,
        project_id,
        flow_version,
        plan,
        inputs: row.inputs,
        metadata,
      });
      if ("problem" in prepared) {
        const error = { code: "inputs_invalid", message: prepared.problem.slice(0, 2000) };
        refused.push({ place: row.place, state: "failed", error, latency_ms: null, cost_usd: null, tokens: null });
        rows.push({ place: row.place, start: null });
      } else {
        const start = batchInputOf(prepared.row);
        chars += JSON.stringify(start).length;
        made.push({ place: row.place, row: prepared.row });
        rows.push({ place: row.place, start });
      }
    }
    if (chars > TAKEN_CHARS) break;
  }
  const sealed = await sealBatchRuns(
    deps.startInputs,
    made.map(({ row }) => row),
  );
  await db.orgTransaction(org_id, async (connection) => {
    await insertBatchRuns(connection, sealed);
    await assignRuns(
      connection,
      experiment_id,
      made.map(({ place, row: { run_id } }) => ({ place, run_id })),
    );
    if (refused.length > 0) await endRows(connection, experiment_id, refused);
  });
  return { rows, more: rows.length < open.length || open.length === taken };
}

/** Whether an experiment has used up its budget. Running rows still end. */
function isSpent({ max_cost_usd, cost_usd }: ExperimentRow): boolean {
  return max_cost_usd !== null && cost_usd >= max_cost_usd;
}

/** An id with the present time, like any run's; the rest is derived from the row. The row stores it. */
function runIdOf(experimentId: string, { row_id, repetition, attempt }: OpenRow): string {
  return digestId(uuidv7(), `${experimentId} ${row_id} ${repetition} ${attempt}`);
}

/** Thrown if a run's workflow has ended but its record does not say so yet. The reconciler settles the record. */
export class RunsNotSettled extends Error {}

/** Records the ends of rows, and has their runs scored. Can be called again after any failure. */
export async function scoreRows(
  deps: RunExperimentDeps,
  input: ExperimentJobInput & { readonly places: readonly number[] },
  signal: AbortSignal,
): Promise<void> {
  const { db } = deps;
  const { org_id, experiment_id, job_id, places } = input;
  const experiment = await db.org(org_id, (connection) => findExperiment(connection, experiment_id));
  if (experiment === null) return;
  const rows = await db.org(org_id, (connection) => ranRows(connection, experiment_id, { places }));
  const open = rows.filter(({ run_state }) => !isTerminal(run_state));
  if (open.length > 0) throw new RunsNotSettled(`${open.length} runs have not been settled yet`);
  const scorable = rows.filter((row) => stateOf(row) !== "cancelled");
  await scoreRuns(deps, org_id, experiment.evaluators, scorable, { experiment_id, signal });
  await db.orgTransaction(org_id, async (connection) => {
    const spent = await endRows(connection, experiment_id, rows.map(endOf));
    await addCost(connection, experiment_id, spent);
    await noteJob(connection, job_id, null, null);
  });
  await workOutProgress(db, org_id, experiment);
}

/** The least time between two counts of the progress, and its share: one part counting, twenty parts resting. */
const PROGRESS_EVERY_MS = 2000;
const PROGRESS_REST = 20;

async function workOutProgress(db: Database, orgId: string, experiment: ExperimentRow): Promise<void> {
  const { experiment_id } = experiment;
  await db.org(orgId, async (connection) => {
    if (!(await claimProgressUpdate(connection, experiment_id))) return;
    const began = performance.now();
    const progress = await statusOf(connection, experiment);
    const tookMs = performance.now() - began;
    await noteProgress(connection, experiment_id, progress, Math.max(PROGRESS_EVERY_MS, PROGRESS_REST * tookMs));
  });
}

function stateOf({ run_state, state_reason }: RanRow): RowState {
  if (run_state === "COMPLETED") return "completed";
  return run_state === "FAILED" || state_reason === "run_paused" ? "failed" : "cancelled";
}

const PAUSED = { code: "run_paused", message: "The run waits for a decision, which nobody makes in an experiment." };

function endOf(row: RanRow): RowEnd {
  const { place, latency_ms, cost_usd, tokens, error, state_reason } = row;
  const why = state_reason === "run_paused" ? PAUSED : error && { code: error.code, message: error.message };
  return { place, state: stateOf(row), error: why, latency_ms, cost_usd, tokens };
}

/** Scores runs again, by some evaluators or all of them. */
export async function scoreExperiment(
  deps: RunExperimentDeps,
  { org_id, experiment_id, job_id }: ExperimentJobInput,
  signal: AbortSignal,
): Promise<void> {
  const { db } = deps;
  const found = await db.org(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id);
    const job = await findJob(connection, job_id);
    return experiment === null || job === null ? null : { experiment, job };
  });
  if (found === null) return;
  const { evaluator_ids } = found.job.options;
  const pins = found.experiment.evaluators.filter(({ evaluator_id }) => evaluator_ids?.includes(evaluator_id) ?? true);
  let done = 0;
  for (let after = -1; ;) {
    signal.throwIfAborted();
    const from = after;
    const page = await db.org(org_id, (connection) =>
      ranRows(connection, experiment_id, { after: from, limit: SCORED_AGAIN }),
    );
    await scoreRuns(deps, org_id, pins, page, { experiment_id, again: true, signal });
    done += page.length;
    const isLast = page.length < SCORED_AGAIN;
    // Rows without a run are not scored, so their number is known only now.
    await db.org(org_id, (connection) => noteJob(connection, job_id, done, isLast ? done : null));
    after = page.at(-1)?.place ?? after;
    if (isLast) return;
  }
}

/**
 * Ends a job. Unless it is an export, the experiment ends in the same transaction, with its status, verdict and event.
 */
export async function endExperiment({ db }: Pick<RunExperimentDeps, "db">, input: ExperimentEndInput): Promise<void> {
  const { org_id, experiment_id, job_id, kind, cancelled, failure } = input;
  await db.orgTransaction(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id, true);
    const job = await findJob(connection, job_id);
    if (experiment === null || job === null || !isOpen(job)) return;
    const isCancelled = cancelled || job.cancel;
    const errors = failure === null ? [] : [{ code: input.code ?? "internal_error", message: failure.slice(0, 1000) }];
    const state = isCancelled ? "cancelled" : failure === null ? "completed" : "failed";
    if (kind === "export") {
      await endJob(connection, job_id, { state, done: job.done, errors, blob_key: null });
      return;
    }
    if (isCancelled) await requestBatchCancel(connection, await cancelRows(connection, experiment_id));
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

/** Ends a job whose regular end has failed. */
export async function failExperiment(
  { db }: Pick<RunExperimentDeps, "db">,
  { org_id, experiment_id, job_id, kind }: ExperimentJobInput,
  error: { readonly code: string; readonly message: string },
): Promise<void> {
  await db.orgTransaction(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id, true);
    const job = await findJob(connection, job_id);
    if (experiment === null || job === null || !isOpen(job)) return;
    await endJob(connection, job_id, { state: "failed", done: job.done, errors: [error], blob_key: null });
    if (kind === "export") return;
    await moveExperiment(connection, experiment_id, "FAILED", { verdict: null, error, result: null });
    await announce(connection, experiment, job_id, { state: "FAILED", verdict: null, unscored: 0 });
  });
}

const NO_ROWS = { code: "no_rows", message: "The dataset's version has no active rows in these splits." };

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
