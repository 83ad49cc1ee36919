import { MAX_TRIGGER_DEPTH } from "../../domain/triggers/trigger.ts";
import type { Database } from "../../stores/db.ts";
import { depthOf, recordDepth } from "../../stores/triggers/firings.ts";

/**
 * Counts a run that another one starts by an action, as runs that triggers start are counted. False where more runs than may would have
 * started each other: it is not to be started.
 */
export async function mayStart(db: Database, orgId: string, startedBy: string, runId: string): Promise<boolean> {
  return await db.orgTransaction(orgId, async (connection) => {
    const depth = (await depthOf(connection, startedBy)) + 1;
    if (depth > MAX_TRIGGER_DEPTH) return false;
    await recordDepth(connection, runId, orgId, depth);
    return true;
  });
}
