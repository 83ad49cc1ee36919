import type { ExpirePauseInput, ExpirePauseResult } from "../../src/domain/runs/run-report.ts";
import type { Database } from "../../src/stores/db.ts";
import { closePause, lockPause } from "../../src/stores/runs/pauses.ts";
import type { RunFeed } from "../../src/stores/runs/run-feed.ts";
import { lockRun, recordRun } from "../../src/stores/runs/run-record.ts";

/** Closes an expired pause, unless a decision closed it first. A retry changes nothing. */
export function createExpirePause(db: Database, feed: RunFeed) {
  return async function expirePause({
    run,
    progress,
    pause_id,
    resolution,
  }: ExpirePauseInput): Promise<ExpirePauseResult> {
    const result = await db.orgTransaction(run.org_id, async (connection): Promise<ExpirePauseResult> => {
      await lockRun(connection, run.run_id);
      const pause = await lockPause(connection, pause_id);
      if (pause?.status === "resolved" && pause.resolution) return { expired: false, resolution: pause.resolution };
      if (!pause || !(await closePause(connection, pause_id, "expired", resolution, null)))
        return { expired: true, resolution };
      const { org_id, run_id, temporal_run_id, started_at } = run;
      await recordRun(
        connection,
        { org_id, run_id, temporal_run_id, started_at, progress, nodes: [], state: "RESUMED" },
        [],
      );
      return { expired: true, resolution };
    });
    feed.changed(run.run_id, "progress");
    return result;
  };
}
