import type { Db } from "../db.ts";
import { OPEN, TERMINAL } from "../states.ts";

/**
 * Removes up to `limit` runs that ended more than `days` ago, of all organisations, with all that is recorded of them. A run
 * stays while a sub-run of it is open, and while an open run resumes it and uses its values. Answers how many were removed.
 * The sweep removes their blobs.
 */
export async function purgeRuns(db: Db, days: number, limit: number): Promise<number> {
  const rows = await db.query(
    {
      name: "purge_runs",
      text: `delete from runs where run_id in (
          select r.run_id from runs r
          where r.state in (${TERMINAL}) and r.finished_at < now() - make_interval(days => $1::int)
            and not exists (select from runs o where o.state in (${OPEN})
              and o.parent_run_id = r.run_id)
            and not exists (select from runs o where o.state in (${OPEN})
              and o.resumed_from is not null and o.resumed_from ->> 'run_id' = r.run_id::text)
          order by r.finished_at limit $2::int for update skip locked
        ) returning run_id`,
    },
    [days, limit],
  );
  return rows.length;
}
