import type { Db } from "../../stores/db.ts";
import { getNodeRun } from "../../stores/runs/node-runs.ts";
import type { NodeRunRow } from "../../stores/runs/node-runs.ts";

/** How a part of a node has ended, as it is recorded. */
export type NodeRun = Pick<NodeRunRow, "state" | "inputs" | "output" | "truncated" | "error">;

/** What is recorded at a place in a run, or null. */
export function findNodeRun(db: Db, runId: string, path: string): Promise<NodeRun | null> {
  return getNodeRun(db, runId, path);
}
