import { uuidv7 } from "uuidv7";
import type { Principal } from "../../domain/accounts/principal.ts";
import { Problem, ValidationProblem } from "../../domain/errors.ts";
import { isTerminal } from "../../domain/runs/run.ts";
import type { RunJobError, RunJobInput, RunJobStep } from "../../domain/runs/run-job.ts";
import {
  endRunJob,
  findRunJob,
  nextRunsOf,
  noteRunJob,
  takeInHand,
  type RunInHand,
  type RunJobRow,
} from "../../stores/runs/run-jobs.ts";
import { getRun } from "../../stores/runs/runs.ts";
import { isNoPlace } from "../accounts/quotas.ts";
import type { RunControlDeps } from "./answer-pause.ts";
import { cancelRun } from "./cancel-run.ts";
import { replayRun, resumeRun, type ResumeDeps } from "./resume-run.ts";

export type StepRunJobDeps = RunControlDeps & ResumeDeps;

/** Runs in one step of a job, and how many of these are handled concurrently. */
const PAGE = 50;
const TOGETHER = 5;

/** The outcome for a run; "wait" means that a limit is currently reached. */
type Outcome = "done" | "skipped" | "wait" | RunJobError;

/**
 * Continues a job with a page of runs. Can be called again after any failure: the job's row stores the IDs of the runs
 * to create, so that none is created twice.
 */
export async function stepRunJob(
  deps: StepRunJobDeps,
  { org_id, job_id }: RunJobInput,
  signal: AbortSignal,
): Promise<RunJobStep> {
  const { db } = deps;
  const job = await db.org(org_id, (connection) => findRunJob(connection, job_id));
  if (!job || job.finished_at !== null) return "end";
  const end = async (state: "COMPLETED" | "ABORTED"): Promise<"end"> => {
    await db.org(org_id, (connection) => endRunJob(connection, job_id, state));
    return "end";
  };
  if (job.abort) return end("ABORTED");
  const page = job.page ?? (await nextPage(deps, job));
  if (page.length === 0) return end("COMPLETED");
  if (job.page === null && !(await db.org(org_id, (connection) => takeInHand(connection, job, page)))) return "more";

  for (let inHand = page; inHand.length > 0;) {
    signal.throwIfAborted();
    const runs = inHand.slice(0, TOGETHER);
    const outcomes = await Promise.all(runs.map((run) => actOn(deps, job, run)));
    const waiting = runs.filter((_, index) => outcomes[index] === "wait");
    const rest = [...waiting, ...inHand.slice(TOGETHER)];
    const progress = { ...counted(outcomes), page: inHand, rest };
    const noted = await db.org(org_id, (connection) => noteRunJob(connection, job_id, progress));
    // Another worker considered this one dead and continues the job.
    if (noted === null) return "more";
    if (noted.abort) return end("ABORTED");
    if (waiting.length > 0) return "wait";
    inHand = rest;
  }
  return "more";
}

async function nextPage({ db }: StepRunJobDeps, job: RunJobRow): Promise<readonly RunInHand[]> {
  const ids = await db.org(job.org_id, (connection) => nextRunsOf(connection, job, PAGE));
  return ids.map((run_id) => ({ run_id, new_run_id: uuidv7() }));
}

function counted(outcomes: readonly Outcome[]) {
  const errors = outcomes.filter((outcome): outcome is RunJobError => typeof outcome === "object");
  const count = (what: Outcome): number => outcomes.filter((outcome) => outcome === what).length;
  return { done: count("done"), skipped: count("skipped"), failed: errors.length, errors };
}

async function actOn(deps: StepRunJobDeps, job: RunJobRow, { run_id, new_run_id }: RunInHand): Promise<Outcome> {
  const { org_id, action, version } = job;
  const run = await deps.db.org(org_id, (connection) => getRun(connection, run_id));
  // The run was deleted since it was found, or its state no longer allows the action.
  if (!run || (action !== "cancel" && !isTerminal(run.state))) return "skipped";
  if (action === "resume" && run.state === "COMPLETED") return "skipped";
  const identity = { run_id: new_run_id, repeated: true, principal: principalOf(job) };
  try {
    if (action === "cancel") await cancelRun(deps, { org_id, run_id, reason: null, mode: "graceful" });
    else if (action === "replay") await replayRun(deps, run, version ?? undefined, identity);
    else await resumeRun(deps, run, { from: "failed", version: version ?? undefined }, identity);
    return "done";
  } catch (error) {
    return outcomeOf(run_id, error);
  }
}

function outcomeOf(run_id: string, error: unknown): Outcome {
  if (error instanceof ValidationProblem) {
    const message = error.issues.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join("; ");
    return { run_id, code: error.code, message: message.slice(0, 1000) };
  }
  if (!(error instanceof Problem) || error.status >= 500) throw error;
  if (error.code === "run_already_finished") return "skipped";
  if (isNoPlace(error)) return "wait";
  return { run_id, code: error.code, message: error.message };
}

/** The job's creator, who owns the runs that it creates. */
function principalOf({ org_id, created_by_type, created_by_id }: RunJobRow): Principal {
  return { org_id, type: created_by_type, id: created_by_id, access: "secret", role: "editor" };
}
