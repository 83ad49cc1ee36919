import type { NodeReport } from "../../domain/runs/run-report.ts";
import type { Db } from "../../stores/db.ts";
import { unfinishedNodes } from "../../stores/runs/node-runs.ts";

/** Reports that end a run's open nodes together with the run, because no activity will report their end. */
export async function endOpenNodes(
  db: Db,
  runId: string,
  state: "COMPLETED" | "CANCELLED" = "CANCELLED",
): Promise<NodeReport[]> {
  const finished_at = new Date().toISOString();
  const open = await unfinishedNodes(db, runId);
  return open.map(({ node_id, type, path, attempts, started_at }) => ({
    node_id,
    type,
    path,
    attempts,
    state,
    started_at,
    finished_at,
    announced: true,
  }));
}
