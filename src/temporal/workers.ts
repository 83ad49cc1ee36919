import { Worker } from "@temporalio/worker";
import type { InjectedSinks, NativeConnection } from "@temporalio/worker";
import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";
import type { RecordSinks } from "../domain/runs/record-sinks.ts";
import { activityQueue, runQueue, webhookQueue } from "./ids.ts";

type Activities = object;

/**
 * How long a step of a workflow may take in its thread. Steps are short, because the engine sees to it; on a machine that
 * stalls, the SDK's own 5 s would pass all the same, and what they end is the process, with all other runs in it (Node's
 * async hooks do not survive a time-out of node:vm). Not among the SDK's declared options.
 */
const NO_PANIC = { isolateExecutionTimeout: "60 seconds" };

/** Longest time between two heartbeats that reach Temporal, and with it, until a cancellation reaches an activity. */
const HEARTBEAT_THROTTLE = "2 seconds";

export interface RunningWorkers {
  /** Rejects when a worker has died. */
  readonly done: Promise<void>;
  /** Lets what is under way end within the grace time; then stops it. */
  stop(): Promise<void>;
}

/** A worker that executes run workflows, their local activities and what they hand out. The bundle is built by `npm run build`. */
export async function createRunWorker(
  config: Config,
  connection: NativeConnection,
  { activities, sinks }: { readonly activities: Activities; readonly sinks: InjectedSinks<RecordSinks> },
): Promise<Worker> {
  const code = await readFile(new URL("../../workflow-bundle.js", import.meta.url), "utf8");
  return Worker.create({
    ...common(config, connection),
    taskQueue: runQueue(config.MILLRACE_TASK_QUEUE),
    workflowBundle: { code },
    activities,
    sinks,
    ...NO_PANIC,
    maxCachedWorkflows: config.MILLRACE_WORKER_CACHED_WORKFLOWS,
    // Slots are cheap, and one is held by each poller, too: without enough of them starts would not be eager.
    maxConcurrentWorkflowTaskExecutions: 200,
    // What a dead process held is taken over by the others after this time.
    stickyQueueScheduleToStartTimeout: "2 seconds",
  });
}

/** A worker that executes regular activities: outbound requests, code, documents. */
export function createActivityWorker(
  config: Config,
  connection: NativeConnection,
  regular: Activities,
): Promise<Worker> {
  return Worker.create({
    ...common(config, connection),
    taskQueue: activityQueue(config.MILLRACE_TASK_QUEUE),
    activities: regular,
    maxConcurrentActivityTaskExecutions: config.MILLRACE_WORKER_ACTIVITIES,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
  });
}

/** A worker that makes the further attempts of deliveries: its slots are for receivers that fail, and for nothing else. */
export function createWebhookWorker(
  config: Config,
  connection: NativeConnection,
  activities: Activities,
): Promise<Worker> {
  return Worker.create({
    ...common(config, connection),
    taskQueue: webhookQueue(config.MILLRACE_TASK_QUEUE),
    activities,
    maxConcurrentActivityTaskExecutions: config.MILLRACE_WEBHOOK_SLOTS,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
  });
}

function common(config: Config, connection: NativeConnection) {
  return {
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    shutdownGraceTime: config.MILLRACE_SHUTDOWN_GRACE_MS,
    shutdownForceTime: config.MILLRACE_SHUTDOWN_GRACE_MS + 5000,
  };
}

/** Runs workers until `stop`. */
export function runWorkers(workers: readonly Worker[]): RunningWorkers {
  const runs = workers.map((worker) => worker.run());
  const all = Promise.all(runs).then(() => undefined);
  // `done` may be looked at late; an early rejection must not end the process on its own.
  all.catch(() => undefined);
  return {
    done: all,
    async stop() {
      for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
      await Promise.allSettled(runs);
    },
  };
}
