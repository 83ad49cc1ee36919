import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";

/** Counts of the runs created in one part of the window, by their outcome. */
export interface RunBucket {
  readonly start: string;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Includes paused runs. */
  readonly open: number;
  readonly paused: number;
}

export interface RunLatencies {
  readonly ended: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

/** The smallest id that a run created at $2 can have is found by its time; see run-lists.ts. */
const CREATED = "r.org_id = current_org() and r.run_id >= $1::uuid and r.created_at >= $2::timestamptz";

/** A time range, and the projects whose runs count; undefined means all of the organisation's projects. */
export interface CountedRuns {
  readonly firstId: string;
  readonly from: string;
  readonly among: readonly string[] | undefined;
}

const among = (at: number): string => `($${at}::uuid[] is null or r.project_id = any ($${at}::uuid[]))`;

/** How many runs were created in each part of the window, by their current state; includes parts without runs. */
export async function bucketRuns(
  db: Db,
  window: CountedRuns & { readonly seconds: number; readonly buckets: number },
): Promise<RunBucket[]> {
  return db.query(
    `with counted as (
        select width_bucket(extract(epoch from r.created_at - $2::timestamptz), 0, $3::float8 * $4::int, $4::int) as at,
          count(*) filter (where r.state = 'COMPLETED')::int as completed, count(*) filter (where r.state = 'FAILED')::int as failed,
          count(*) filter (where r.state = 'CANCELLED')::int as cancelled,
          count(*) filter (where r.state in (${OPEN}))::int as open,
          count(*) filter (where r.state = 'PAUSED')::int as paused
        from runs r where ${CREATED} and ${among(5)}
          and r.created_at < $2::timestamptz + make_interval(secs => $3::float8 * $4::int) group by 1)
      select $2::timestamptz + make_interval(secs => $3::float8 * (n - 1)) as start, coalesce(completed, 0) as completed,
        coalesce(failed, 0) as failed, coalesce(cancelled, 0) as cancelled, coalesce(open, 0) as open,
        coalesce(paused, 0) as paused
      from generate_series(1, $4::int) as n left join counted on counted.at = n order by n`,
    [window.firstId, window.from, window.seconds, window.buckets, window.among ?? null],
  );
}

/** The durations of runs created since a time that have completed or failed. */
export async function runLatencies(db: Db, window: CountedRuns): Promise<RunLatencies> {
  return db.one(
    `select count(*)::int as ended,
        percentile_cont(0.5) within group (order by ms)::float8 as p50_ms, percentile_cont(0.95) within group (order by ms)::float8 as p95_ms
      from (select extract(epoch from r.finished_at - coalesce(r.started_at, r.created_at)) * 1000 as ms
        from runs r where ${CREATED} and ${among(3)} and r.state in ('COMPLETED', 'FAILED')
          and r.finished_at is not null) as taken`,
    [window.firstId, window.from, window.among ?? null],
  );
}

/** The unfinished runs by state, of the organisation or of these projects. */
export async function openRunsByState(
  db: Db,
  projects: readonly string[] | undefined,
): Promise<ReadonlyArray<{ readonly state: string; readonly runs: number; readonly oldest_at: string }>> {
  return db.query(
    `select state, count(*)::int as runs, min(created_at) as oldest_at from runs r
      where org_id = current_org() and ${among(1)} and state in (${OPEN}) group by state order by state`,
    [projects ?? null],
  );
}
