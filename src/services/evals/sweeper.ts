import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { takeOpenJobs } from "../../stores/evals/experiment-jobs.ts";
import { takeOpenImports } from "../../stores/evals/imports.ts";
import type { EvalStarter } from "../../temporal/evals.ts";

const AGAIN_AFTER_MS = 10_000;
const BATCH = 100;

/** Starts again the imports and the jobs of experiments that a dead process left; where they are under way, that does nothing. Any number of processes may do it. */
export function startEvalSweeper(
  { db, evals }: { readonly db: Database; readonly evals: EvalStarter },
  intervalMs: number,
  onError: (error: unknown) => void,
): Periodic {
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
    },
    onError,
  );
}
