import { conflict, invalid, required } from "../../domain/errors.ts";
import { MAX_JOB_RUNS, statesOf, type RunJobAction, type RunJobFilter } from "../../domain/runs/run-job.ts";
import type { Database } from "../../stores/db.ts";
import { countRuns, keepRunsOf, type RunFilter } from "../../stores/runs/run-lists.ts";
import {
  askToAbort,
  findRunJob,
  insertRunJob,
  setMatched,
  type NewRunJob,
  type RunJobRow,
} from "../../stores/runs/run-jobs.ts";
import { wantStarts } from "../../stores/starts/workflow-starts.ts";

export interface RunJobDeps {
  readonly db: Database;
  /** Age without progress from which a run counts as stuck (ms). */
  readonly stuckAfterMs: number;
}

interface Wanted {
  readonly action: RunJobAction;
  readonly filter: RunJobFilter;
}

/**
 * A filter for the runs that an action applies to; null if there can be none. Child runs are left to their parents,
 * unless the filter names them.
 */
function runsOf({ action, filter }: Wanted, stuckAfterMs: number): RunFilter | null {
  const { state: _state, stuck, ...narrow } = filter;
  const states = statesOf(action, filter);
  if (states.length === 0) return null;
  return {
    ...narrow,
    states,
    stuck: stuck === undefined ? undefined : { is: stuck, afterMs: stuckAfterMs },
    withoutChildren: [narrow.run_type, narrow.parent_run_id, narrow.run_id].every((each) => each === undefined),
  };
}

/** How many runs an action would apply to now. Throws 422 if there are too many. */
export async function countRunsOf({ db, stuckAfterMs }: RunJobDeps, orgId: string, wanted: Wanted): Promise<number> {
  const filter = runsOf(wanted, stuckAfterMs);
  if (filter === null) return 0;
  const count = await db.org(orgId, (connection) => countRuns(connection, orgId, filter, MAX_JOB_RUNS + 1));
  return notTooMany(count);
}

function notTooMany(matched: number): number {
  if (matched <= MAX_JOB_RUNS) return matched;
  const message = `More than ${MAX_JOB_RUNS} runs match: narrow the filter, for example with created_before`;
  throw invalid(["body", "filter"], message);
}

/** Starts a job, or returns the job that the same request started before. */
export async function createRunJob({ db, stuckAfterMs }: RunJobDeps, request: NewRunJob): Promise<RunJobRow> {
  const { org_id, job_id } = request;
  const job = await db.orgTransaction(org_id, async (connection) => {
    const filter = runsOf(request, stuckAfterMs);
    // The job applies only to runs found now; otherwise it would also find the runs that it creates.
    const inserted = await insertRunJob(connection, request);
    if (inserted) await wantStarts(connection, "run_job", [{ org_id, job_id }]);
    if (inserted && filter !== null) {
      const matched = await keepRunsOf(connection, request, filter, MAX_JOB_RUNS + 1);
      await setMatched(connection, job_id, notTooMany(matched));
    }
    return findRunJob(connection, job_id);
  });
  return required(job, "job");
}

/** One of the organisation's jobs. Throws 404. */
export async function requireRunJob(db: Database, orgId: string, jobId: string): Promise<RunJobRow> {
  return required(await db.org(orgId, (connection) => findRunJob(connection, jobId)), "job");
}

/** Stops a job before its next runs. Throws 409 if it has finished without being aborted. */
export async function abortRunJob(db: Database, orgId: string, jobId: string): Promise<RunJobRow> {
  await requireRunJob(db, orgId, jobId);
  await db.org(orgId, (connection) => askToAbort(connection, jobId));
  const job = await requireRunJob(db, orgId, jobId);
  if (job.state === "COMPLETED" || job.state === "FAILED")
    throw conflict(`The job is already finished: it is ${job.state}.`);
  return job;
}
