import type { Db } from "../db.ts";
import { KEPT_FOR } from "../retention.ts";
import { OPEN, TERMINAL } from "../states.ts";

/**
 * Removes up to `limit` ended runs whose days have passed, organisations in turn, with all that is recorded of them. `days`: of
 * the installation; null: for ever. A run stays while a sub-run of it is open, and while an open run resumes it and uses its
 * values. Answers how many were removed. The sweep removes their blobs.
 */
export async function purgeRuns(db: Db, days: number | null, limit: number): Promise<number> {
  const rows = await db.query(
    {
      name: "purge_runs",
      text: `with kept as (${KEPT_FOR}),
        due as (
          select r.run_id, row_number() over (partition by k.org_id order by r.finished_at) as place
          from kept k cross join lateral (
            select r.run_id, r.finished_at from runs r
            where r.project_id = k.project_id and r.state in (${TERMINAL})
              and r.finished_at < now() - make_interval(days => k.days)
              and not exists (select from runs o where o.state in (${OPEN})
                and o.parent_run_id = r.run_id)
              and not exists (select from runs o where o.state in (${OPEN})
                and o.resumed_from is not null and o.resumed_from ->> 'run_id' = r.run_id::text)
            order by r.finished_at limit $2::int
          ) as r
        )
        delete from runs where run_id in (
          select run_id from runs where run_id in (select run_id from due order by place, run_id limit $2::int)
          for update skip locked
        ) returning run_id`,
    },
    [days, limit],
  );
  return rows.length;
}
