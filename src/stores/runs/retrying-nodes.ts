import type { RunError } from "../../domain/runs/run.ts";
import type { Db } from "../db.ts";

/** A node whose attempt has failed and which is being retried or will be. */
export interface RetryingNode {
  readonly run_id: string;
  readonly node_id: string;
  readonly path: string;
  /** The error of the failed attempt; null while the next attempt is running. */
  readonly error: RunError | null;
  readonly attempts: number;
  /** When its first attempt started. */
  readonly started_at: string | null;
  readonly next_attempt_at: string | null;
}

/** For each of these runs, the node that has been retried for longest; runs without such a node are omitted. */
export async function longestRetrying(db: Db, runIds: readonly string[]): Promise<RetryingNode[]> {
  return db.query<RetryingNode>(
    `select distinct on (run_id) run_id, node_id, path, error, attempts, started_at, next_attempt_at
      from node_runs where run_id = any ($1::uuid[]) and state = 'RETRYING' order by run_id, started_at, path`,
    [runIds],
  );
}
