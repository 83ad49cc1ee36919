import {
  MAX_JOB_ERRORS,
  type RunJobAction,
  type RunJobCounts,
  type RunJobError,
  type RunJobFilter,
  type RunJobInput,
  type RunJobState,
} from "../../domain/runs/run-job.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { removeSome } from "../remove-some.ts";
import { jsonb } from "../jsonb.ts";
import { LOWEST_ID, selectPage, type Keyset } from "../keyset.ts";

/** A run in the job's current page, and the ID of the run made from it. */
export interface RunInHand {
  readonly run_id: string;
  readonly new_run_id: string;
}

const ROW = columns(`job_id uuid, org_id uuid, action text, filter jsonb, version int null, state text, abort boolean,
  matched int, done int, skipped int, failed int, errors jsonb, reached uuid null, page jsonb null,
  created_by_type text, created_by_id uuid, created_at timestamptz, finished_at timestamptz null`);

export interface RunJobRow extends RunJobInput, RunJobCounts, RowOf<typeof ROW> {
  readonly action: RunJobAction;
  readonly filter: RunJobFilter;
  readonly state: RunJobState;
  readonly errors: readonly RunJobError[];
  readonly page: readonly RunInHand[] | null;
  readonly created_by_type: "org_api_key" | "user";
}

const NEW = columns(`job_id uuid, org_id uuid, action text, filter jsonb, version int, created_by_type text,
  created_by_id uuid`);

export type NewRunJob = Pick<RunJobRow, NameOf<typeof NEW>>;

const COLUMNS = ROW.select();
const ONE = "org_id = current_org() and job_id = $1::uuid";
const OPEN = "state in ('PENDING', 'RUNNING')";

/** Inserts a job; null if the id exists (the same request, retried). */
export async function insertRunJob(db: Db, job: NewRunJob): Promise<RunJobRow | null> {
  return db.first(
    `insert into run_jobs ${NEW.into} on conflict (job_id) do nothing returning ${COLUMNS}`,
    NEW.values(job),
  );
}

/** Records how many runs a job has found. */
export async function setMatched(db: Db, jobId: string, matched: number): Promise<void> {
  await db.query(`update run_jobs set matched = $2::int where ${ONE}`, [jobId, matched]);
}

/** One job, or null. */
export async function findRunJob(db: Db, jobId: string): Promise<RunJobRow | null> {
  return db.first(`select ${COLUMNS} from run_jobs where ${ONE}`, [jobId]);
}

/** A page of the organisation's jobs. */
export async function listRunJobs(db: Db, page: Keyset): Promise<RunJobRow[]> {
  const select = `select ${COLUMNS} from run_jobs where org_id = current_org()`;
  return selectPage(db, page, "job_id", select);
}

/** Asks a job to stop before its next runs; does nothing to a finished job. */
export async function askToAbort(db: Db, jobId: string): Promise<void> {
  await db.query(`update run_jobs set abort = true where ${ONE} and ${OPEN}`, [jobId]);
}

/** The next runs of a job. */
export async function nextRunsOf(
  db: Db,
  { job_id, reached }: Pick<RunJobRow, "job_id" | "reached">,
  limit: number,
): Promise<string[]> {
  return db.column(
    `select run_id from run_job_runs where ${ONE} and run_id > coalesce($2::uuid, '${LOWEST_ID}') order by run_id limit $3::int`,
    [job_id, reached, limit],
  );
}

/** Claims a page of runs. False if another process has continued the job, or the job has finished. */
export async function takeInHand(
  db: Db,
  { job_id, reached }: Pick<RunJobRow, "job_id" | "reached">,
  page: readonly RunInHand[],
): Promise<boolean> {
  return db.any(
    `update run_jobs set state = 'RUNNING', page = $3::jsonb, reached = $4::uuid, checked_at = now()
      where ${ONE} and ${OPEN} and reached is not distinct from $2::uuid and page is null`,
    [job_id, reached, jsonb(page), page.at(-1)?.run_id],
  );
}

export interface RunJobProgress extends RunJobCounts {
  readonly errors: readonly RunJobError[];
  /** The runs claimed before the update, and those still claimed after it. */
  readonly page: readonly RunInHand[];
  readonly rest: readonly RunInHand[];
}

/**
 * Adds the outcomes of some runs, only once: returns `null` if another process has continued the job. Otherwise returns whether the job is
 * to stop.
 */
export async function noteRunJob(
  db: Db,
  jobId: string,
  { done, skipped, failed, errors, page, rest }: RunJobProgress,
): Promise<{ readonly abort: boolean } | null> {
  return db.first(
    `update run_jobs set done = done + $3::int, skipped = skipped + $4::int, failed = failed + $5::int,
        errors = case when jsonb_array_length(errors) < ${MAX_JOB_ERRORS} then errors || $6::jsonb else errors end,
        page = $7::jsonb, checked_at = now()
      where ${ONE} and ${OPEN} and page = $2::jsonb returning abort`,
    [jobId, jsonb(page), done, skipped, failed, jsonb(errors), rest.length === 0 ? null : jsonb(rest)],
  );
}

/** Finishes a job and drops its remaining runs; does nothing to a finished job. */
export async function endRunJob(
  db: Db,
  jobId: string,
  state: "COMPLETED" | "ABORTED" | "FAILED",
  error: RunJobError | null = null,
): Promise<void> {
  await db.query(
    `with ended as (
        update run_jobs set state = $2::text, errors = $3::jsonb || errors, page = null, finished_at = now()
        where ${ONE} and ${OPEN} returning job_id)
      delete from run_job_runs where job_id in (select job_id from ended)`,
    [jobId, state, jsonb(error === null ? [] : [error])],
  );
}

/** Removes jobs that finished more than `maxAgeMs` ago; returns how many. System only. */
export async function purgeRunJobs(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  return removeSome(db, "run_jobs", "job_id", "finished_at < now() - make_interval(secs => $1::float8 / 1000)", limit, [
    maxAgeMs,
  ]);
}
