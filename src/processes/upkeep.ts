import { periodically, untilDone, type Periodic } from "../platform/periodically.ts";
import { startDocumentSweeper } from "../services/documents/document-sweeper.ts";
import { startSync } from "../services/knowledge/sync.ts";
import { startSweeper } from "../services/runs/sweeper.ts";
import { allSchedules } from "../services/schedules/all-schedules.ts";
import { keepSchedules } from "../services/schedules/keep-schedules.ts";
import { startStarter } from "../services/starts/starter.ts";
import { analyseGrownTables } from "../stores/statistics.ts";
import { endRetiredWorkflows } from "../temporal/retired.ts";
import { createSchedules } from "../temporal/schedules.ts";
import { createStarts } from "../temporal/starts.ts";
import { warning, type ServiceProcess } from "./open-process.ts";
import type { Runs } from "./runs.ts";

/** How often the planner statistics of tables that have grown are updated (ms). */
const STATISTICS_MS = 5000;

/** Starts the background tasks that start work and take over work of dead processes. Any number of processes may run them. */
export function startUpkeep(process: ServiceProcess, runs: Runs): void {
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
  const starts = createStarts(client, prefix);
  keep("start of background work", (onError) =>
    startStarter({
      db,
      starts: { ...starts, sync: (input) => startSync(db, starts, input) },
      lookMs: recoveryMs,
      onError,
    }),
  );
  keep("update of table statistics", (onError) =>
    periodically(STATISTICS_MS, async () => void (await db.system(analyseGrownTables)), onError),
  );
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
