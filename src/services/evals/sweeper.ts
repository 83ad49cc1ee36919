import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { takeOpenJobs } from "../../stores/evals/experiment-jobs.ts";
import { takeOpenImports } from "../../stores/evals/imports.ts";
import type { Database } from "../../stores/db.ts";
import type { EvalStarter } from "../../temporal/evals.ts";

const AGAIN_AFTER_MS = 10_000;
const BATCH = 100;

export interface SweeperDeps {
  readonly db: Database;
  readonly evals: EvalStarter;
}

/**
 * Restarts the imports and experiment jobs that a dead process left behind. It leaves those in progress alone. Any
 * number of processes may run it.
 */
export function startEvalSweeper(deps: SweeperDeps, intervalMs: number, onError: (error: unknown) => void): Periodic {
  const { db, evals } = deps;
  return periodically(
    intervalMs,
    async (isClosed) => {
      const round = { isClosed, onError };
      const imports = await db.system((connection) => takeOpenImports(connection, AGAIN_AFTER_MS, BATCH));
      await eachRoundRobin(imports, (input) => evals.startImport(input), round);
      const jobs = await db.system((connection) => takeOpenJobs(connection, AGAIN_AFTER_MS, BATCH));
      const start = async ({ cancel, ...job }: (typeof jobs)[number]): Promise<void> => {
        await evals.startJob(job);
        if (cancel) await evals.cancelJob(job.job_id);
      };
      await eachRoundRobin(jobs, start, round);
    },
    onError,
  );
}
