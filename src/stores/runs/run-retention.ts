import type { Db } from "../db.ts";
import { KEPT_FOR } from "../retention.ts";
import { OPEN, TERMINAL } from "../states.ts";

/** SQL: run `r` has no open sub-run, and no open run that resumes it and uses its values. */
const UNUSED = `not exists (select from runs o where o.state in (${OPEN}) and o.parent_run_id = r.run_id)
  and not exists (select from runs o where o.state in (${OPEN})
    and o.resumed_from is not null and o.resumed_from ->> 'run_id' = r.run_id::text)`;

/**
 * Removes up to `limit` ended runs whose days have passed, organisations in turn, with all their records. `days`: of
 * the installation; null: for ever. A run stays while it has an open sub-run, and while an open run resumes it and
 * uses its values. If only the installation's days apply, it also stays until the partition of its records was
 * removed, or should have been. Returns how many were removed. The sweep removes their blobs.
 */
export async function purgeRuns(db: Db, days: number | null, limit: number): Promise<number> {
  const removed = await db.count(
    `with kept as (${KEPT_FOR}),
      due as (
        select r.run_id, row_number() over (partition by k.org_id order by r.finished_at) as place
        from kept k cross join lateral (
          select r.run_id, r.finished_at from runs r
          where r.project_id = k.project_id and r.state in (${TERMINAL})
            and r.finished_at < case when k.by_policy then now() - make_interval(days => k.days)
              else (select run_rows_wait_from($1::int)) end
            and ${UNUSED}
          order by r.finished_at limit $2::int
        ) as r
      )
      delete from runs where run_id in (
        select run_id from runs where run_id in (select run_id from due order by place, run_id limit $2::int)
        for update skip locked
      )`,
    [days, limit],
  );
  if (days === null || removed === limit) return removed;
  return removed + (await purgeBare(db, days, limit - removed));
}

/** Removes up to `limit` due runs that ended after the time of the partition with their records was removed. */
async function purgeBare(db: Db, days: number, limit: number): Promise<number> {
  return db.count(
    `delete from runs where run_id in (
        select r.run_id from runs r
        where r.run_id < (select first_run_id(run_rows_wait_from($1::int))) and r.state in (${TERMINAL})
          and r.finished_at < now() - make_interval(days => $1::int) and ${UNUSED}
        order by r.run_id limit $2::int for update skip locked
      )`,
    [days, limit],
  );
}
