import { UUID_PATTERN } from "../../domain/uuid.ts";
import type { Db } from "../db.ts";
import { KEPT_FOR } from "../system/retention.ts";
import { OPEN, TERMINAL } from "../states.ts";

/** SQL condition: run `r` has no unfinished child run, and no unfinished run resumes it and uses its values. */
const UNUSED = `not exists (select from runs o where o.state in (${OPEN}) and o.parent_run_id = r.run_id)
  and not exists (select from runs o where o.state in (${OPEN})
    and o.resumed_from is not null and o.resumed_from ->> 'run_id' = r.run_id::text)`;

/**
 * SQL: deletes runs, and keeps hashes of the users whose data each held: of its own user, or else of the user of the run that caused it,
 * and of the users of runs that its pinned values were copied from.
 */
const REMOVED = (which: string): string => `gone as (
        delete from runs where run_id in (${which}) returning run_id, org_id, project_id, user_id, caused_by),
      unpinned as (delete from run_pins where run_id in (select run_id from gone)),
      up as (
        select run_id as of, run_id, user_id, caused_by from gone
        union
        select up.of, source.run_id, r.user_id, r.caused_by
        from up cross join lateral (
            select up.caused_by as run_id where up.user_id is null and up.caused_by is not null
            union all select p.source_run_id from run_pins p where p.run_id = up.run_id) source
          left join runs r on r.run_id = source.run_id),
      kept as (
        insert into removed_runs (run_id, org_id, project_id, user_hash)
        select distinct g.run_id, g.org_id, g.project_id, whose.user_hash
        from gone g join up on up.of = g.run_id
          cross join lateral (
            select encode(sha256(convert_to(g.org_id::text || E'\\n' || up.user_id, 'UTF8')), 'hex') as user_hash
              where up.user_id is not null
            union all select o.user_hash from removed_runs o where o.run_id = up.run_id) whose
        on conflict do nothing)
      select from gone`;

/**
 * Removes up to `limit` finished runs whose retention has expired, organisations in turn, with all their records. `days` is the
 * installation's retention; null means forever. A run stays while it has an unfinished child run, and while an unfinished run resumes it
 * and uses its values. If only the installation's retention applies, the run also stays until the partition of its records was removed, or
 * should have been. Returns how many were removed. The sweep removes their blobs.
 */
export async function purgeRuns(db: Db, days: number | null, limit: number): Promise<number> {
  const removed = await db.count(
    `with recursive kept_for as (${KEPT_FOR}),
      due as (
        select r.run_id, row_number() over (partition by k.org_id order by r.finished_at) as place
        from kept_for k cross join lateral (
          select r.run_id, r.finished_at from runs r
          where r.project_id = k.project_id and r.state in (${TERMINAL})
            and r.finished_at < case when k.by_policy then now() - make_interval(days => k.days)
              else (select run_rows_wait_from($1::int)) end
            and ${UNUSED}
          order by r.finished_at limit $2::int
        ) as r
      ),
      ${REMOVED(`select run_id from runs where run_id in (select run_id from due order by place, run_id limit $2::int)
          for update skip locked`)}`,
    [days, limit],
  );
  if (days === null || removed === limit) return removed;
  return removed + (await purgeBare(db, days, limit - removed));
}

/** Removes up to `limit` expired runs that finished after the partition with their records was removed. */
async function purgeBare(db: Db, days: number, limit: number): Promise<number> {
  return db.count(
    `with recursive ${REMOVED(`select r.run_id from runs r
        where r.run_id < (select first_run_id(run_rows_wait_from($1::int))) and r.state in (${TERMINAL})
          and r.finished_at < now() - make_interval(days => $1::int) and ${UNUSED}
        order by r.run_id limit $2::int for update skip locked`)}`,
    [days, limit],
  );
}

/**
 * Checks up to `limit` removed runs that were not checked for `maxAgeMs`, which is longer than events and stored responses are kept.
 * Forgets whose a run was if no row, run or entry of the audit log that was made from it is left. Returns how many it has checked. System
 * only.
 */
export async function purgeRemovedRuns(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  return db.count(
    `with due as materialized (
        select run_id, org_id from removed_runs where looked_at < now() - make_interval(secs => $1::float8 / 1000)
        order by looked_at limit $2::int for update skip locked),
      shown as materialized (
        select distinct m[1]::uuid as run_id from eval_imports e cross join regexp_matches(concat(e.preview, e.errors), '${UUID_PATTERN}', 'gi') m
        where e.org_id in (select org_id from due) and e.source ->> 'type' = 'runs'),
      used as materialized (
        select d.run_id from due d where d.run_id in (select run_id from shown)
          or exists (select from eval_dataset_rows r where r.source_run_id = d.run_id)
          or exists (select from eval_dataset_rows r where length(r.metadata ->> 'run_id') = 36
            and lower(r.metadata ->> 'run_id') = d.run_id::text)
          or exists (select from runs r where r.caused_by = d.run_id)
          or exists (select from runs r where r.parent_run_id = d.run_id)
          or exists (select from runs r where r.resumed_from is not null and r.resumed_from ->> 'run_id' = d.run_id::text)
          or exists (select from run_pins p where p.source_run_id = d.run_id)
          or exists (select from audit_log a where a.target_type = 'score'
            and coalesce(a.changes #>> '{run_id,after}', a.changes #>> '{run_id,before}') = d.run_id::text)),
      kept as (update removed_runs set looked_at = now() where run_id in (select run_id from used)),
      gone as (delete from removed_runs where run_id in (select run_id from due except select run_id from used))
      select from due`,
    [maxAgeMs, limit],
  );
}
