import { createRunJobActivities } from "../../activities/runs/index.ts";
import type { ActivityDeps } from "../../activities/deps.ts";
import { createFailureObserver } from "../../activities/observe-failures.ts";
import { createRecording } from "../../activities/recording.ts";
import { createFlowCache } from "../services/projects/flow-cache.ts";
import { createBackgroundStarts } from "../services/runs/background-starts.ts";
import { runLimits } from "../services/runs/create-run.ts";
import { createRunService } from "../services/runs/run-service.ts";
import type { SweeperDeps } from "../services/runs/sweeper.ts";
import { createRunStarter } from "../temporal/runs.ts";
import type { ServiceProcess } from "./open-process.ts";

/** The parts of every process that executes runs: the record, dependencies of activities, and sweepers. */
export function openRuns(process: ServiceProcess) {
  const { config, db, blobs, feed, observer, metrics, logger, evaluation, temporal } = process;
  const recording = createRecording(process);
  // Not eager, because the sweeper starts runs for all processes, and any of them may take the first step.
  const starter = createRunStarter({
    client: temporal.client,
    taskQueuePrefix: config.MILLRACE_TASK_QUEUE,
    eager: () => false,
  });
  const startInBackground = createBackgroundStarts();
  const common = { config, db, blobs, feed, observer, ...recording };
  const activities: ActivityDeps = {
    ...common,
    evaluation,
    onFailure: createFailureObserver(metrics, logger),
    onFault: (err, { run: { run_id, org_id, project_id } }) =>
      logger.warn({ err, run_id, org_id, project_id }, "could not write the end of a run yet; it will be retried"),
  };
  const sweeping: SweeperDeps = {
    ...common,
    starter,
    startInBackground,
    limits: { max_iterations: config.MILLRACE_MAX_ITERATIONS },
    intervalMs: config.MILLRACE_SWEEP_INTERVAL_MS,
    stuckAfterMs: config.MILLRACE_STUCK_AFTER_MS,
    stuckAttempts: config.MILLRACE_STUCK_ATTEMPTS,
    onSwept(outcome, run_id, err) {
      metrics.swept({ sweeper: "runs", outcome });
      if (err) logger.warn({ run_id, err }, "sweeper");
      else logger.info({ run_id, outcome }, "sweeper");
    },
  };
  return {
    activities,
    sweeping,
    /** Starts runs that no API request creates: those of triggers and actions. */
    starting: {
      starter,
      startInBackground,
      limits: runLimits(config, db),
      maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
      flows: createFlowCache(db, recording.plans),
      onStartDelayed: (run_id: string, err: unknown) =>
        logger.warn({ err, run_id }, "could not start the run; the sweeper will retry"),
    },
  };
}

export type Runs = ReturnType<typeof openRuns>;

/** Opens the jobs on runs, which cancel, resume or rerun many runs. */
export function openRunJobs({ blobs, logger, observer, shutdown }: ServiceProcess, runs: Runs) {
  const { starting, activities } = runs;
  const runService = createRunService({ ...activities, ...starting, blobs, logger, observer });
  shutdown.add("runs of jobs", () => runService.close());
  return { background: createRunJobActivities({ ...activities, ...starting, logger, observer, runService }) };
}
