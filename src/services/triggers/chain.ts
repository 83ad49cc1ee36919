import { MAX_TRIGGER_DEPTH } from "../../domain/triggers/trigger.ts";
import type { Database } from "../../stores/db.ts";
import { depthOf, recordDepth } from "../../stores/triggers/firings.ts";

/** What to say where `mayStart` says no. */
export const TOO_MANY_NESTED_RUNS = `More than ${MAX_TRIGGER_DEPTH} runs would have started each other: this one was not started. Does a flow start itself?`;

/** How many runs have started each other up to this one. */
export async function depthOfRun(db: Database, orgId: string, runId: string): Promise<number> {
  return await db.org(orgId, (connection) => depthOf(connection, runId));
}

/**
 * Counts a run that another one starts by an action, as runs that triggers start are counted. `startedBy` is that one's id, or how deep it
 * says it is where no more is known of it. False where more runs than may would have started each other: it is not to be started.
 */
export async function mayStart(
  db: Database,
  orgId: string,
  startedBy: string | number,
  runId: string,
): Promise<boolean> {
  return await db.orgTransaction(orgId, async (connection) => {
    const depth = (typeof startedBy === "number" ? startedBy : await depthOf(connection, startedBy)) + 1;
    if (depth > MAX_TRIGGER_DEPTH) return false;
    await recordDepth(connection, runId, orgId, depth);
    return true;
  });
}
