import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";
import type { RunState, TerminalState } from "../../domain/runs/run.ts";

/** The `state_reason` of a run whose workflow is stuck, kept after the run fails for it. */
export const STUCK = "stuck";

/** Records whether an unfinished run makes progress; a run with a stuck workflow is checked again soon. */
export async function markStuck(db: Db, runId: string, stuck: boolean): Promise<void> {
  await db.query(
    `update runs set state_reason = case when $2::boolean then '${STUCK}' end,
        check_at = case when $2 then now() + interval '1 second' else check_at end
      where run_id = $1::uuid and state in (${OPEN})`,
    [runId, stuck],
  );
}

/** Runs with a stuck workflow, and runs that failed because of one within the last day. System only. */
export async function countStuckRuns(db: Db): Promise<{ readonly live: number; readonly ended: number }> {
  return db.one(`select (select count(*) from runs where state in (${OPEN}) and state_reason = '${STUCK}')::integer as live,
    (select count(*) from runs where state = 'FAILED' and state_reason = '${STUCK}' and finished_at > now() - interval '1 day')::integer as ended`);
}

/** The unfinished runs of one state. */
export interface LiveRuns {
  readonly state: Exclude<RunState, TerminalState>;
  readonly runs: number;
  /** How long the oldest has been due (PENDING), paused (PAUSED) or running (s). */
  readonly oldest_seconds: number;
}

/** How many runs are in each unfinished state, and for how long the oldest has been. System only. */
export async function countLiveRunsByState(db: Db): Promise<LiveRuns[]> {
  return db.query(`select state, count(*)::integer as runs,
      greatest(0, extract(epoch from clock_timestamp() - min(case state
        when 'PENDING' then greatest(created_at, run_at)
        when 'PAUSED' then paused_at
        else coalesce(started_at, created_at) end)))::float8 as oldest_seconds
    from runs where state in (${OPEN}) group by state`);
}
