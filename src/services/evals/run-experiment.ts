import { uuidv7 } from "uuidv7";
import type { ExperimentJobInput, ExperimentLanes, LaneInput, LaneRow } from "../../domain/evals/experiment.ts";
import { digestId } from "../../domain/derived-id.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { findJob, noteJob, type JobRow } from "../../stores/evals/experiment-jobs.ts";
import {
  assignRuns,
  endRows,
  makeRows,
  openRows,
  ranRows,
  resetRows,
  type OpenRow,
  type RowEnd,
} from "../../stores/evals/experiment-rows.ts";
import {
  addCost,
  findExperiment,
  moveExperiment,
  noteProgress,
  claimProgressUpdate,
  type ExperimentRow,
} from "../../stores/evals/experiments.ts";
import { batchRunInput, insertBatchRuns, prepareBatchRun, type NewBatchRun } from "../runs/batch-runs.ts";
import type { RunLimits } from "../runs/create-run.ts";
import { endOf, isOpen, stateOf } from "./end-experiment.ts";
import { statusOf } from "./experiment-status.ts";
import { scoreRuns } from "./score-runs.ts";
import type { Scorer } from "./scorer.ts";
import type { Parts } from "../parts.ts";

export interface RunExperimentDeps extends Parts<"db" | "blobs" | "plans" | "startInputs"> {
  readonly scorer: Scorer;
  readonly limits: RunLimits & { readonly max_input_bytes: number };
}

/** Most workflows that share the rows of an experiment. */
const MAX_LANES = 4;
/** Most rows that a lane takes in one step, and the longest total of their inputs (characters). */
const MAX_TAKEN = 50;
const TAKEN_CHARS = 1024 * 1024;
const SCORED_AGAIN = 100;

/** Starts a job: creates the experiment's rows, or resets the rows to run again. Null if there is nothing to run. */
export async function beginExperiment(
  { db }: Pick<RunExperimentDeps, "db">,
  { org_id, experiment_id, job_id, kind }: ExperimentJobInput,
): Promise<ExperimentLanes | null> {
  return await db.orgTransaction(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id, true);
    const job = await findJob(connection, job_id);
    if (experiment === null || job === null || !isWanted(job)) return null;
    // In any other state an earlier attempt, whose result was lost, has already started it.
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

/** Inserts the runs of a lane's next rows and returns them. However often it is called, each row gets one run. */
export async function nextRows(
  deps: RunExperimentDeps,
  input: LaneInput,
): Promise<{ readonly rows: LaneRow[]; readonly more: boolean }> {
  const { db, plans, startInputs, limits } = deps;
  const { org_id, experiment_id, job_id } = input;
  const nothing = { rows: [], more: false };
  const found = await db.org(org_id, async (connection) => {
    const experiment = await findExperiment(connection, experiment_id);
    const job = await findJob(connection, job_id);
    if (experiment === null || !isWanted(job) || isSpent(experiment)) return null;
    // With a budget, a lane takes no more rows than run concurrently, because taken rows run even if the budget is used
    // up.
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
  for (const { place, run_id: known, ...row } of open) {
    let start: LaneRow["start"] = null;
    if (known !== null) start = await db.org(org_id, (connection) => batchRunInput(startInputs, connection, known));
    else {
      const { inputs, row_id, repetition, source_run_id } = row;
      const run_id = runIdOf(experiment_id, row);
      const metadata = { experiment_id, row_id, repetition };
      const run = { org_id, run_id, project_id, flow_version, plan, inputs, metadata };
      const prepared = await prepareBatchRun(deps, limits, { ...run, started_by: source_run_id ?? undefined });
      if ("problem" in prepared) {
        const error = { code: "inputs_invalid", message: prepared.problem.slice(0, 2000) };
        refused.push({ place, state: "failed", error, latency_ms: null, cost_usd: null, tokens: null });
      } else {
        made.push({ place, row: prepared.row });
        ({ start } = prepared);
      }
    }
    rows.push({ place, start });
    chars += JSON.stringify(start).length;
    if (chars > TAKEN_CHARS) break;
  }
  const added = await db.orgTransaction(org_id, async (connection) => {
    // Another lane may have failed meanwhile, and runs added after the job's end would never start.
    if (!isWanted(await findJob(connection, job_id, "for share"))) return false;
    const runs = made.map(({ row }) => row);
    await insertBatchRuns(connection, runs);
    const assigned = made.map(({ place, row: { run_id } }) => ({ place, run_id }));
    await assignRuns(connection, experiment_id, assigned);
    if (refused.length > 0) await endRows(connection, experiment_id, refused);
    return true;
  });
  if (!added) return nothing;
  return { rows, more: rows.length < open.length || open.length === taken };
}

/** Whether a job should continue. */
function isWanted(job: JobRow | null): boolean {
  return job !== null && isOpen(job) && !job.cancel;
}

/** Whether an experiment has used up its budget. Running rows still finish. */
function isSpent({ max_cost_usd, cost_usd }: ExperimentRow): boolean {
  return max_cost_usd !== null && cost_usd >= max_cost_usd;
}

/** A run ID with the current time; the rest is derived from the row, which stores the ID. */
function runIdOf(experimentId: string, { row_id, repetition, attempt }: Omit<OpenRow, "place" | "run_id">): string {
  return digestId(uuidv7(), `${experimentId} ${row_id} ${repetition} ${attempt}`);
}

/** Thrown if a run's workflow has ended but its record does not say so yet. The sweeper finalises the record. */
export class RunsNotSettled extends Error {}

/** Records the ends of rows, and has their runs scored. Can be called again after any failure. */
export async function scoreRows(
  deps: RunExperimentDeps,
  input: ExperimentJobInput & { readonly places: readonly number[] },
  signal: AbortSignal,
): Promise<void> {
  const { db } = deps;
  const { org_id, experiment_id, job_id, places } = input;
  const { experiment, job } = await db.org(org_id, async (connection) => ({
    experiment: await findExperiment(connection, experiment_id),
    job: await findJob(connection, job_id),
  }));
  // If another lane has failed the job, its rows have ended as well.
  if (experiment === null || job === null || !isOpen(job)) return;
  const rows = await db.org(org_id, (connection) => ranRows(connection, experiment_id, { places }));
  const open = rows.filter(({ run_state }) => !isTerminal(run_state));
  if (open.length > 0) throw new RunsNotSettled(`${open.length} runs are not finished yet`);
  const scorable = rows.filter((row) => stateOf(row) !== "cancelled");
  await scoreRuns(deps, org_id, experiment.evaluators, scorable, { experiment_id, signal });
  await db.orgTransaction(org_id, async (connection) => {
    const spent = await endRows(connection, experiment_id, rows.map(endOf));
    await addCost(connection, experiment_id, spent);
    await noteJob(connection, job_id, null, null);
  });
  await workOutProgress(db, org_id, experiment);
}

/** Shortest time between two counts of the progress (ms), and how many times the duration of a count the next one waits. */
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
    // The number of scored rows is known only now, because rows without a run are not scored.
    await db.org(org_id, (connection) => noteJob(connection, job_id, done, isLast ? done : null));
    after = page.at(-1)?.place ?? after;
    if (isLast) return;
  }
}
