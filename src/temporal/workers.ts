import { Worker, type InjectedSinks, type WorkerOptions } from "@temporalio/worker";
import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";
import type { RecordSinks } from "../domain/runs/record-sinks.ts";
import type { TemporalConnection } from "./connection.ts";
import { versionOf } from "./deployments.ts";
import { taskQueues, type TaskQueues } from "./ids.ts";
import { POLLED } from "./queues.ts";

/** The connection to Temporal that workers use. */
type Temporal = Pick<TemporalConnection, "connection" | "dataConverter">;

/** What a worker executes, in addition to workflows. */
export interface WorkerParts {
  readonly activities: object;
  /** Only workflows of runs have sinks. */
  readonly sinks?: InjectedSinks<RecordSinks>;
}

/** Longest time between two heartbeats that reach Temporal (ms). An activity learns about its cancellation with the next heartbeat. */
const HEARTBEATS = {
  maxHeartbeatThrottleInterval: "2 seconds",
  defaultHeartbeatThrottleInterval: "2 seconds",
} as const;

/**
 * A worker keeps as many polls open as the server has work for. The default is ten, and only two of the polls for workflow tasks ask for
 * new runs, which limits starts to some 45 per second.
 */
const POLLS = {
  type: "autoscaling",
  minimum: 2,
  initial: 10,
  maximum: 50,
} satisfies WorkerOptions["workflowTaskPollerBehavior"];

/** Most workflows and workflow tasks in the memory of a worker of documents or of background jobs. */
const MAX_CACHED_JOBS = 100;
const MAX_JOB_STEPS = 20;
/** Most concurrent activities of such a worker. One organisation may use half of them. */
export const JOB_ACTIVITIES = 40;

export type RunningWorkers = ReturnType<typeof runWorkers>;

/** Most concurrent erasures and purges of a worker; few, because each holds a connection to the database. */
export const HOUSE_ACTIVITIES = 4;
/** Polls that a worker of deliveries keeps open in addition to the shards that it owns. */
const SPARE_SLOTS = 2;

/** How much a worker of each queue does at the same time. */
const LIMITS: { readonly [Queue in keyof TaskQueues]: (config: Config) => Partial<WorkerOptions> } = {
  runs: (config) => ({
    maxCachedWorkflows: config.MILLRACE_WORKER_CACHED_WORKFLOWS,
    // Slots are cheap, but each open poll also holds one: with too few, starts would not be eager.
    maxConcurrentWorkflowTaskExecutions: 200,
    // The duration of local activities can depend on a caller, so organisations share these slots: activities/local-shares.ts.
    maxConcurrentLocalActivityExecutions: 400,
    // After this time other processes take over the workflows of a dead process.
    stickyQueueScheduleToStartTimeout: "2 seconds",
  }),
  nodes: (config) => ({ ...HEARTBEATS, maxConcurrentActivityTaskExecutions: config.MILLRACE_WORKER_ACTIVITIES }),
  ingest: limitsOfJobs,
  background: limitsOfJobs,
  webhooks: (config) => ({
    ...HEARTBEATS,
    // A worker that owns all shards still polls, because a queue without pollers would look like a missing worker.
    maxConcurrentActivityTaskExecutions: config.MILLRACE_WEBHOOK_SHARDS + SPARE_SLOTS,
  }),
  house: () => ({
    ...HEARTBEATS,
    activityTaskPollerBehavior: { type: "simple-maximum", maximum: 1 },
    maxConcurrentActivityTaskExecutions: HOUSE_ACTIVITIES,
  }),
};

function limitsOfJobs(config: Config): Partial<WorkerOptions> {
  return {
    ...HEARTBEATS,
    maxCachedWorkflows: Math.min(MAX_CACHED_JOBS, config.MILLRACE_WORKER_CACHED_WORKFLOWS),
    maxConcurrentWorkflowTaskExecutions: MAX_JOB_STEPS,
    maxConcurrentActivityTaskExecutions: JOB_ACTIVITIES,
  };
}

/** The worker of a queue (see TaskQueues). `npm run build` makes the bundle of the workflows. */
export async function createWorker(
  queue: keyof TaskQueues,
  config: Config,
  { connection, dataConverter }: Temporal,
  parts: WorkerParts,
): Promise<Worker> {
  return Worker.create({
    connection,
    dataConverter,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: taskQueues(config.MILLRACE_TASK_QUEUE)[queue],
    workflowTaskPollerBehavior: POLLS,
    activityTaskPollerBehavior: POLLS,
    ...versioning(config),
    shutdownGraceTime: config.MILLRACE_SHUTDOWN_GRACE_MS,
    shutdownForceTime: config.MILLRACE_SHUTDOWN_GRACE_MS + 5000,
    ...(POLLED[queue].includes("workflow") ? { workflowBundle: await workflowBundle() } : {}),
    ...parts,
    ...LIMITS[queue](config),
  });
}

let bundle: Promise<{ code: string }> | undefined;

/** The code of all workflows, which `npm run build` bundles: one text for all workers of the process. */
function workflowBundle(): Promise<{ code: string }> {
  bundle ??= readFile(new URL("../../workflow-bundle.js", import.meta.url), "utf8").then((code) => ({ code }));
  return bundle;
}

/** With a deployment, a workflow stays on the build where it started, unless its own code specifies otherwise. */
function versioning(config: Config): Pick<WorkerOptions, "workerDeploymentOptions"> {
  const version = versionOf(config);
  if (!version) return {};
  return { workerDeploymentOptions: { useWorkerVersioning: true, version, defaultVersioningBehavior: "PINNED" } };
}

/** Runs workers until `stop`. */
export function runWorkers(workers: readonly Worker[]) {
  const runs = workers.map((worker) => worker.run());
  const all = Promise.all(runs).then(() => undefined);
  // A caller may await `done` late; until then a rejection must not end the process.
  all.catch(() => undefined);
  /** Stops taking new work. Running work gets the grace time from now on, and is then stopped. */
  const stopPolling = (): void => {
    for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
  };
  return {
    /** Rejects when a worker dies. */
    done: all,
    /** Whether all workers are polling. */
    running: () => workers.every((worker) => worker.getState() === "RUNNING"),
    stopPolling,
    /** Stops polling, and waits until the workers have finished. */
    async stop(): Promise<void> {
      stopPolling();
      await Promise.allSettled(runs);
    },
  };
}
