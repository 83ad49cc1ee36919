import type { JobKind, JobState } from "../../domain/evals/experiment.ts";
import { columns, type NameOf, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { jsonb } from "../jsonb.ts";

export interface JobOptions {
  readonly row_ids?: readonly string[] | undefined;
  readonly evaluator_ids?: readonly string[] | undefined;
  readonly format?: "csv" | "jsonl" | undefined;
}

const ROW = columns(`job_id uuid, org_id uuid, experiment_id uuid, kind text, options jsonb, state text, done int,
  total int, errors jsonb, cancel boolean, blob_key text null, created_at timestamptz, finished_at timestamptz null`);

export interface JobRow extends RowOf<typeof ROW> {
  readonly kind: JobKind;
  readonly options: JobOptions;
  readonly state: JobState;
  readonly errors: ReadonlyArray<{ readonly code: string; readonly message: string }>;
}

const NEW = columns("job_id uuid, org_id uuid, experiment_id uuid, kind text, options jsonb, state text");
const COLUMNS = ROW.select();
const ONE = "org_id = current_org() and job_id = $1::uuid";

/** Inserts a job; false if the id exists (the same request, retried). */
export async function insertJob(db: Db, job: Pick<JobRow, NameOf<typeof NEW>>): Promise<boolean> {
  return db.any(
    `insert into experiment_jobs (${NEW.select()}, finished_at)
      values (${NEW.parameters}, case when $6 = 'completed' then now() end) on conflict (job_id) do nothing`,
    NEW.values(job),
  );
}

/** One job, or null; locked until the transaction ends with `lock`. */
export async function findJob(
  db: Db,
  jobId: string,
  lock: "" | "for share" | "for update" = "",
): Promise<JobRow | null> {
  return db.first(`select ${COLUMNS} from experiment_jobs where ${ONE} ${lock}`, [jobId]);
}

/** The unfinished job of an experiment, apart from exports; null if there is none. */
export async function activeJob(db: Db, experimentId: string): Promise<JobRow | null> {
  return db.first(
    `select ${COLUMNS} from experiment_jobs where org_id = current_org() and experiment_id = $1::uuid
      and state in ('pending', 'running') and kind <> 'export' order by job_id limit 1`,
    [experimentId],
  );
}

/** Asks a job to stop. Its workflow reads this before it starts anything more. */
export async function askToCancel(db: Db, jobId: string): Promise<void> {
  await db.query(`update experiment_jobs set cancel = true where ${ONE}`, [jobId]);
}

/** Records the progress of a job; `done` is null if the job's rows show it. Does nothing to a finished job. */
export async function noteJob(db: Db, jobId: string, done: number | null, total: number | null): Promise<void> {
  await db.query(
    `update experiment_jobs j set state = 'running', total = coalesce($3::int, total), checked_at = now(),
        done = coalesce($2::int, greatest(0, coalesce($3::int, total) - (select count(*)::int from experiment_rows x
          where x.experiment_id = j.experiment_id and (x.state in ('pending', 'running') or not x.scored)
            and x.state in ('pending', 'running'))))
      where ${ONE} and state in ('pending', 'running')`,
    [jobId, done, total],
  );
}

/** Finishes a job; false if it has already finished. */
export async function endJob(
  db: Db,
  jobId: string,
  end: Pick<JobRow, "state" | "done" | "errors" | "blob_key">,
): Promise<boolean> {
  return db.any(
    `update experiment_jobs set state = $2::text, done = $3::int, total = greatest(total, $3::int), errors = $4::jsonb,
        blob_key = coalesce($5::text, blob_key), finished_at = now()
      where ${ONE} and state in ('pending', 'running')`,
    [jobId, end.state, end.done, jsonb(end.errors), end.blob_key],
  );
}
