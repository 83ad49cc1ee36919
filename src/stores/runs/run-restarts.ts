import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";

/** Counts a restart of a run; returns the number of restarts including this one. */
export async function noteRestart(db: Db, orgId: string, runId: string): Promise<number> {
  return db.number(
    `insert into run_restarts as r (run_id, org_id) values ($1::uuid, $2::uuid)
     on conflict (run_id) do update set restarts = r.restarts + 1, restarted_at = now() returning restarts`,
    [runId, orgId],
  );
}

/** Time since a run was restarted (ms); null if it never was. */
export async function sinceRestart(db: Db, runId: string): Promise<number | null> {
  return db.value(
    `select (1000 * extract(epoch from now() - restarted_at))::float8 as ms from run_restarts where run_id = $1::uuid`,
    [runId],
  );
}

/** Makes the sweeper send the decisions of pauses again, except those at these paths, because a restarted workflow waits for them again. */
export async function resendAnswers(db: Db, runId: string, except: readonly string[]): Promise<void> {
  await db.query(
    `update run_pauses set delivered_at = null
     where run_id = $1::uuid and status = 'resolved' and resolution is not null and not (path = any ($2::text[]))`,
    [runId, except],
  );
}

/**
 * Removes what slices recorded when Temporal cancelled them with a lost workflow: the nodes and pauses at these paths that were cancelled
 * before `since`. The replacement workflow executes them.
 */
export async function forgetCancelled(db: Db, runId: string, paths: readonly string[], since: string): Promise<void> {
  await db.query(
    `with gone as (
       delete from node_runs where run_id = $1::uuid and path = any ($2::text[]) and state = 'CANCELLED'
         and finished_at < $3::timestamptz
         and exists (select from runs where run_id = $1::uuid and state in (${OPEN}))
       returning path
     )
     delete from run_pauses where run_id = $1::uuid and status = 'cancelled' and path in (select path from gone)`,
    [runId, paths, since],
  );
}
