import type { Db } from "../db.ts";
import { TERMINAL } from "../states.ts";

/**
 * Adds up the usage of a run and of its parent runs again, because a call that was cancelled with its run is recorded after the run has
 * finished. Skips unfinished runs, whose end adds it up.
 */
export async function recountUsage(db: Db, runId: string, path: string): Promise<void> {
  await db.query(
    `update node_runs set usage = node_usage(run_id, path)
     where run_id = $1::uuid and path = $2::text and finished_at is not null`,
    [runId, path],
  );
  for (let id: string | null = runId; id !== null;) {
    id = await db.value<string>(
      `update runs set usage = coalesce(run_usage(run_id), usage)
       where run_id = $1::uuid and state in (${TERMINAL}) returning parent_run_id`,
      [id],
    );
  }
}
