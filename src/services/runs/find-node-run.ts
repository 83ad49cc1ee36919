import type { Db } from "../../stores/db.ts";
import { getNodeRun } from "../../stores/runs/node-runs.ts";
import type { NodeRunRow } from "../../stores/runs/node-runs.ts";

/** The recorded end of a part of a node. */
export type NodeRun = Pick<NodeRunRow, "state" | "inputs" | "output" | "truncated" | "error">;

/** The record at a path in a run, or null. */
export function findNodeRun(db: Db, runId: string, path: string): Promise<NodeRun | null> {
  return getNodeRun(db, runId, path);
}
