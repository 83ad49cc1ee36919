import { untilDone } from "../platform/periodically.ts";
import type { Periodic } from "../platform/periodically.ts";
import { startDocumentSweeper } from "../services/documents/document-sweeper.ts";
import { startErasures } from "../services/erasures/erasures.ts";
import { startEvalSweeper } from "../services/evals/sweeper.ts";
import { startIngestSweeper } from "../services/knowledge/ingest.ts";
import { startSyncSweeper } from "../services/knowledge/sync.ts";
import { startActionSweeper } from "../services/providers/action-runs.ts";
import { startRunJobSweeper } from "../services/runs/run-jobs.ts";
import { startSweeper } from "../services/runs/sweeper.ts";
import { allSchedules } from "../services/schedules/all-schedules.ts";
import { keepSchedules } from "../services/schedules/keep-schedules.ts";
import { startKeepingStatistics } from "../services/system/keep-statistics.ts";
import { createErasureStarter } from "../temporal/erasures.ts";
import { createEvalStarter } from "../temporal/evals.ts";
import { createProviderJobs } from "../temporal/providers.ts";
import type { ResourceStarter } from "../temporal/resources.ts";
import { endRetiredWorkflows } from "../temporal/retired.ts";
import { createRunJobStarter } from "../temporal/run-jobs.ts";
import { createSchedules } from "../temporal/schedules.ts";
import type { SyncStarter } from "../temporal/syncs.ts";
import { warning } from "./open-process.ts";
import type { ServiceProcess } from "./open-process.ts";
import type { Runs } from "./runs.ts";

/** Starts the background tasks that take over work of dead processes. Any number of processes may run them. */
export function startUpkeep(
  process: ServiceProcess,
  runs: Runs,
  { resources, syncs }: { readonly resources: ResourceStarter; readonly syncs: SyncStarter },
): void {
  const { config, db, logger, shutdown, temporal } = process;
  const { client } = temporal;
  const prefix = config.MILLRACE_TASK_QUEUE;
  const sweepMs = config.MILLRACE_SWEEP_INTERVAL_MS;
  // They only find work that a dead process has left, so they run less often than the sweeper of runs.
  const recoveryMs = 5 * sweepMs;
  const tasks: Array<Pick<Periodic, "close">> = [];
  const keep = (name: string, start: (onError: (error: unknown) => void) => Pick<Periodic, "close">): void => {
    tasks.push(start(warning(process, `${name} failed`)));
  };
  // Closed in parallel, so that none begins another round while the process waits for another task's round.
  shutdown.add("upkeep", () => Promise.all(tasks.map((task) => task.close())).then(() => undefined));

  keep("run sweeper", () => startSweeper(runs.sweeping));
  keep("document sweeper", (onError) => startDocumentSweeper({ db, starter: runs.starting.starter }, sweepMs, onError));
  const providerJobs = createProviderJobs(client, prefix, () => false);
  keep("action sweeper", (onError) => startActionSweeper({ db, providerJobs }, recoveryMs, onError));
  keep("start of erasures", (onError) =>
    startErasures({ db, startErasure: createErasureStarter(client, prefix) }, recoveryMs, onError),
  );
  keep("update of table statistics", (onError) => startKeepingStatistics(db, onError));
  keep("ingestion sweeper", (onError) => startIngestSweeper({ db, resources }, recoveryMs, onError));
  keep("sync sweeper", (onError) => startSyncSweeper({ db, syncs }, recoveryMs, onError));
  keep("eval sweeper", (onError) =>
    startEvalSweeper({ db, evals: createEvalStarter(client, prefix) }, recoveryMs, onError),
  );
  const runJobs = createRunJobStarter(client, prefix);
  keep("run job sweeper", (onError) => startRunJobSweeper({ db, runJobs }, recoveryMs, onError));
  keep("schedule check", (onError) =>
    keepSchedules({ db, schedules: createSchedules(client, prefix) }, allSchedules(config), {
      changesMs: recoveryMs,
      compareMs: config.MILLRACE_SCHEDULE_CHECK_MS,
      onError,
      onMended: (counts) => logger.warn(counts, "repaired schedules (recreated missing, removed orphaned)"),
    }),
  );
  keep("ending workflows of an earlier release", (onError) =>
    untilDone(
      recoveryMs,
      async () => {
        const ended = await endRetiredWorkflows(client, prefix);
        if (ended > 0) logger.info({ ended }, "ended workflows of an earlier release");
      },
      onError,
    ),
  );
}
