import type { Db } from "../db.ts";
import type { RunRow } from "./runs.ts";

/** Which of these runs, of all organisations, have a workflow that has not started. Some may have a pending cancellation. */
export async function runsToStart(db: Db, runIds: readonly string[]): Promise<RunRow[]> {
  return db.query<RunRow>("select * from runs where run_id = any ($1::uuid[]) and state = 'PENDING'", [runIds]);
}

/** Postpones the sweeper's check of queued runs. */
export async function holdQueuedRuns(db: Db, runIds: readonly string[], holdMs: number): Promise<void> {
  await db.query(
    `update runs set check_at = greatest(run_at, now()) + make_interval(secs => $2::float8 / 1000)
      where run_id = any ($1::uuid[]) and state = 'PENDING' and cancel_requested is null`,
    [runIds, holdMs],
  );
}
