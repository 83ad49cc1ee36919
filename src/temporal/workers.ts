import { Worker } from "@temporalio/worker";
import type { InjectedSinks, WorkerOptions } from "@temporalio/worker";
import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";
import type { RecordSinks } from "../domain/runs/record-sinks.ts";
import type { TemporalConnection } from "./connection.ts";
import { versionOf } from "./deployments.ts";
import { taskQueues } from "./ids.ts";

type Activities = object;
/** What workers use of it. */
type Temporal = Pick<TemporalConnection, "connection" | "dataConverter">;

/** Longest time between two heartbeats that reach Temporal, and with it, until a cancellation reaches an activity. */
const withHeartbeats = {
  maxHeartbeatThrottleInterval: "2 seconds",
  defaultHeartbeatThrottleInterval: "2 seconds",
} as const;

/**
 * How many polls for work a worker has open: as many as the server has work for. By default it is ten, and of those for
 * steps of workflows only two ask for runs that are new, which is a limit of some 45 starts a second.
 */
const POLLS = {
  type: "autoscaling",
  minimum: 2,
  initial: 10,
  maximum: 50,
} satisfies WorkerOptions["workflowTaskPollerBehavior"];

/** Workflows, their steps and activities that a worker of documents or of background jobs has in memory at once. */
const MAX_CACHED_JOBS = 100;
const MAX_JOB_STEPS = 20;
/** Half as many of one organisation. */
export const JOB_ACTIVITIES = 40;

export interface RunningWorkers {
  /** Rejects when a worker has died. */
  readonly done: Promise<void>;
  /** Whether all of them are polling. */
  running(): boolean;
  /** Lets what is under way end within the grace time; then stops it. */
  stop(): Promise<void>;
}

/** A worker that executes run workflows, their local activities and what they hand out. The bundle is built by `npm run build`. */
export async function createRunWorker(
  config: Config,
  temporal: Temporal,
  { activities, sinks }: { readonly activities: Activities; readonly sinks: InjectedSinks<RecordSinks> },
): Promise<Worker> {
  return Worker.create({
    ...common(config, temporal),
    taskQueue: taskQueues(config.MILLRACE_TASK_QUEUE).runs,
    workflowBundle: await workflowBundle(),
    activities,
    sinks,
    maxCachedWorkflows: config.MILLRACE_WORKER_CACHED_WORKFLOWS,
    // Slots are cheap, and each open poll holds one, too: without enough of them starts would not be eager.
    maxConcurrentWorkflowTaskExecutions: 200,
    // They are shared out by organisation where their length is a caller's choice: activities/local-shares.ts.
    maxConcurrentLocalActivityExecutions: 400,
    // What a dead process held is taken over by the others after this time.
    stickyQueueScheduleToStartTimeout: "2 seconds",
  });
}

/** A worker that executes the regular activities of nodes: outbound requests, code, pages. */
export function createNodeWorker(config: Config, temporal: Temporal, activities: Activities): Promise<Worker> {
  return Worker.create({
    ...common(config, temporal),
    ...withHeartbeats,
    taskQueue: taskQueues(config.MILLRACE_TASK_QUEUE).nodes,
    activities,
    maxConcurrentActivityTaskExecutions: config.MILLRACE_WORKER_ACTIVITIES,
  });
}

/** A worker that reads uploaded documents: workflows and activities. */
export function createIngestWorker(config: Config, temporal: Temporal, activities: Activities): Promise<Worker> {
  return createJobWorker(config, temporal, taskQueues(config.MILLRACE_TASK_QUEUE).ingest, activities);
}

/** A worker of long jobs that nobody waits for, such as syncs and experiments: workflows and activities. */
export function createBackgroundWorker(config: Config, temporal: Temporal, activities: Activities): Promise<Worker> {
  return createJobWorker(config, temporal, taskQueues(config.MILLRACE_TASK_QUEUE).background, activities);
}

async function createJobWorker(
  config: Config,
  temporal: Temporal,
  taskQueue: string,
  activities: Activities,
): Promise<Worker> {
  return Worker.create({
    ...common(config, temporal),
    ...withHeartbeats,
    taskQueue,
    workflowBundle: await workflowBundle(),
    activities,
    maxCachedWorkflows: Math.min(MAX_CACHED_JOBS, config.MILLRACE_WORKER_CACHED_WORKFLOWS),
    maxConcurrentWorkflowTaskExecutions: MAX_JOB_STEPS,
    maxConcurrentActivityTaskExecutions: JOB_ACTIVITIES,
  });
}

let bundle: Promise<{ code: string }> | undefined;

/** The code of all workflows, as `npm run build` made it: one text for all workers of the process. */
function workflowBundle(): Promise<{ code: string }> {
  bundle ??= readFile(new URL("../../workflow-bundle.js", import.meta.url), "utf8").then((code) => ({ code }));
  return bundle;
}

/** Polls that a worker keeps open beside the shards that it owns. */
const SPARE_SLOTS = 2;

/** A worker that makes the deliveries of shards. */
export function createWebhookWorker(config: Config, temporal: Temporal, activities: Activities): Promise<Worker> {
  return Worker.create({
    ...common(config, temporal),
    ...withHeartbeats,
    taskQueue: taskQueues(config.MILLRACE_TASK_QUEUE).webhooks,
    activities,
    // One may own them all, and goes on polling: a queue that nobody polls means that there is no worker.
    maxConcurrentActivityTaskExecutions: config.MILLRACE_WEBHOOK_SHARDS + SPARE_SLOTS,
  });
}

function common(config: Config, { connection, dataConverter }: Temporal) {
  return {
    connection,
    dataConverter,
    namespace: config.TEMPORAL_NAMESPACE,
    workflowTaskPollerBehavior: POLLS,
    activityTaskPollerBehavior: POLLS,
    ...versioning(config),
    shutdownGraceTime: config.MILLRACE_SHUTDOWN_GRACE_MS,
    shutdownForceTime: config.MILLRACE_SHUTDOWN_GRACE_MS + 5000,
  };
}

/** With a deployment, a workflow stays on the build that it began on, unless its own code says otherwise. */
function versioning(config: Config): Pick<WorkerOptions, "workerDeploymentOptions"> {
  const version = versionOf(config);
  if (!version) return {};
  return { workerDeploymentOptions: { useWorkerVersioning: true, version, defaultVersioningBehavior: "PINNED" } };
}

/** Runs workers until `stop`. */
export function runWorkers(workers: readonly Worker[]): RunningWorkers {
  const runs = workers.map((worker) => worker.run());
  const all = Promise.all(runs).then(() => undefined);
  // `done` may be looked at late; an early rejection must not end the process on its own.
  all.catch(() => undefined);
  return {
    done: all,
    running: () => workers.every((worker) => worker.getState() === "RUNNING"),
    async stop() {
      for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
      await Promise.allSettled(runs);
    },
  };
}
