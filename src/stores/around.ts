import type { Db } from "./db.ts";
import { TERMINAL } from "./states.ts";

/** The API key whose quotas count a run: the key that started it, or whose request caused it; null if there is none. */
const KEY = "coalesce(r.key_id, case when r.ran_by_type = 'org_api_key' then r.ran_by_id end) as key_id";

/**
 * A table `around` for a recursive query: the run itself at level 0, its parent at level 1, and so on. `run` is the parameter with the
 * run's ID.
 */
export const aroundRun = (run: `$${number}`): string => `around as (
    select run_id, parent_run_id, project_id, flow_version, ${KEY}, state, cancel_requested, timeout_seconds, 0 as level
    from runs r where run_id = ${run}::uuid
    union all
    select r.run_id, r.parent_run_id, r.project_id, r.flow_version, ${KEY}, r.state, r.cancel_requested, r.timeout_seconds, level + 1
    from around join runs r on r.run_id = around.parent_run_id)`;

/** Whether the run, or a run it is a child of, has finished or has a pending cancellation. */
export const STOPPED_AROUND = `exists (select from around where state in (${TERMINAL}) or cancel_requested is not null)`;

/** Whether nothing more of the run may start, because the run or a run it is a child of has finished or has a pending cancellation. */
export async function isStopped(db: Db, runId: string): Promise<boolean> {
  return db.holds(`with recursive ${aroundRun("$1")} select ${STOPPED_AROUND}`, [runId]);
}

/**
 * Why a run has to stop: it was cancelled, or a run that it is a child of was cancelled or has finished (then without a
 * reason). Null if it may continue.
 */
export async function cancelRequested(db: Db, runId: string): Promise<{ reason: string | null } | null> {
  return db.first(
    `with recursive ${aroundRun("$1")}
      select coalesce(cancel_requested ->> 'reason', case state when 'CANCELLED' then state_reason end) as reason
      from runs where run_id = $1::uuid and ${STOPPED_AROUND}`,
    [runId],
  );
}

/** Whether the workflow of a run has to stop: the run or a run it is a child of has a pending cancellation, or its time is up. */
export async function hasToStop(
  db: Db,
  { run_id, started_at }: { readonly run_id: string; readonly started_at: string },
): Promise<boolean> {
  return db.holds(
    `with recursive ${aroundRun("$1")} select exists (select from around where cancel_requested is not null
      or level = 0 and $2::timestamptz + make_interval(secs => timeout_seconds) < clock_timestamp())`,
    [run_id, started_at],
  );
}

/**
 * The key whose quotas count what a run or an action run starts: the key of the outermost parent run, or the key that requested the action;
 * null if there is none.
 */
export async function keyOfCaller(db: Db, callerId: string): Promise<string | null> {
  return db.value(
    `with recursive ${aroundRun("$1")}
      select coalesce(
        (select key_id from around order by level desc limit 1),
        (select k.key_id from action_runs a join api_keys k on k.key_id = a.created_by
          where a.org_id = current_org() and k.org_id = current_org() and a.action_run_id = $1::uuid)) as key_id`,
    [callerId],
  );
}
