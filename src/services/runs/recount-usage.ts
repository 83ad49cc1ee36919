import type { Database } from "../../stores/db.ts";
import { recountUsage } from "../../stores/runs/run-usage.ts";

/** Adds up the usage of a run again, because it may have finished before one of its model calls was recorded. */
export function recountUsageOf(db: Database, orgId: string, runId: string, path: string): Promise<void> {
  return db.orgTransaction(orgId, (connection) => recountUsage(connection, runId, path));
}
