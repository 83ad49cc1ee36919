import type { Db } from "../db.ts";
import { OPEN } from "../states.ts";

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
  const rows = await db.query<{
    live: number;
    ended: number;
  }>(`select (select count(*) from runs where state in (${OPEN}) and state_reason = '${STUCK}')::integer as live,
    (select count(*) from runs where state = 'FAILED' and state_reason = '${STUCK}' and finished_at > now() - interval '1 day')::integer as ended`);
  return rows[0] ?? { live: 0, ended: 0 };
}
