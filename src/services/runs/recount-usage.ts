import type { Database } from "../../stores/db.ts";
import { recountUsage } from "../../stores/runs/run-usage.ts";

/** Adds up the usage of a run that may have ended before a call of a model in it was written. */
export function recountUsageOf(db: Database, orgId: string, runId: string, path: string): Promise<void> {
  return db.orgTransaction(orgId, (connection) => recountUsage(connection, runId, path));
}
