import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { takeOpenJobs } from "../../stores/evals/experiment-jobs.ts";
import { takeOpenImports } from "../../stores/evals/imports.ts";
import { unappliedMonitors } from "../../stores/evals/monitors.ts";
import type { EvalStarter } from "../../temporal/evals.ts";
import { applyMonitor } from "./monitors.ts";
import type { ScheduleDeps } from "./monitors.ts";

const AGAIN_AFTER_MS = 10_000;
const BATCH = 100;

export interface SweeperDeps extends ScheduleDeps {
  readonly evals: EvalStarter;
}

/**
 * Starts again the imports and the jobs of experiments that a dead process left; where they are under way, that does nothing. Makes
 * Temporal's schedules what the monitors are. Any number of processes may do it.
 */
export function startEvalSweeper(deps: SweeperDeps, intervalMs: number, onError: (error: unknown) => void): Periodic {
  const { db, evals } = deps;
  return periodically(
    intervalMs,
    async (isClosed) => {
      for (const input of await db.system((connection) => takeOpenImports(connection, AGAIN_AFTER_MS, BATCH))) {
        if (isClosed()) return;
        await evals.startImport(input);
      }
      for (const { cancel, ...job } of await db.system((connection) =>
        takeOpenJobs(connection, AGAIN_AFTER_MS, BATCH),
      )) {
        if (isClosed()) return;
        await evals.startJob(job);
        if (cancel) await evals.cancelJob(job.job_id);
      }
      for (const monitor of await db.system((connection) => unappliedMonitors(connection, BATCH))) {
        if (isClosed()) return;
        await applyMonitor(deps, monitor);
      }
    },
    onError,
  );
}
