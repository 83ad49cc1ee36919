import { Problem } from "../../domain/errors.ts";
import type { Db } from "../../stores/db.ts";
import { LOWEST_ID } from "../../stores/keyset.ts";
import { countOpenRuns, openRuns } from "../../stores/runs/run-reads.ts";
import type { RunControlDeps } from "./answer-pause.ts";
import { cancelRun } from "./cancel-run.ts";

/** Runs read in one query. */
const BATCH = 100;

/** Counts a project's unfinished runs, as the transaction sees them. */
export function openRunCount(connection: Db, projectId: string): Promise<number> {
  return countOpenRuns(connection, projectId);
}

/** Asks all unfinished runs of a project to stop. */
export async function cancelOpenRuns(
  deps: RunControlDeps,
  { orgId, projectId, reason }: { orgId: string; projectId: string; reason: string },
): Promise<void> {
  for (let after = LOWEST_ID, count = BATCH; count === BATCH;) {
    const ids = await deps.db.org(orgId, (connection) => openRuns(connection, projectId, after, BATCH));
    for (const run_id of ids) {
      await cancelRun(deps, { org_id: orgId, run_id, reason, mode: "graceful" }).catch((error: unknown) => {
        // A Problem means that the run has finished meanwhile, so it is ignored.
        if (!(error instanceof Problem)) throw error;
      });
    }
    count = ids.length;
    after = ids.at(-1) ?? after;
  }
}
