import { setTimeout as delay } from "node:timers/promises";
import { shareOut } from "../../activities/shares.ts";
import type { Shares } from "../domain/shares.ts";
import type { TaskQueues } from "../temporal/ids.ts";
import {
  createWorker,
  JOB_ACTIVITIES,
  runWorkers,
  type RunningWorkers,
  type WorkerParts,
} from "../temporal/workers.ts";
import type { ServiceProcess } from "./open-process.ts";

/** How often a process looks again for its data key, without which it cannot read payloads (ms). */
const ASK_AGAIN_MS = 1000;

/** The activities that a capability gives to the workers of each queue. */
export type QueueActivities = { readonly [Queue in keyof TaskQueues]?: object };

/** Creates the worker of a queue, with what each capability gives to the queue. `runs`: for workflows of runs. */
export function createWorkerOf(
  queue: keyof TaskQueues,
  { config, temporal }: ServiceProcess,
  capabilities: readonly QueueActivities[],
  runs: WorkerParts,
  nodeShares: Shares,
): ReturnType<typeof createWorker> {
  const given: object = Object.assign({}, ...capabilities.map((each) => each[queue]));
  const shared = {
    nodes: () => shareOut(given, config.MILLRACE_WORKER_ACTIVITIES, nodeShares),
    ingest: () => shareOut(given, JOB_ACTIVITIES),
    background: () => shareOut(given, JOB_ACTIVITIES),
    webhooks: () => given,
    house: () => given,
  };
  return createWorker(queue, config, temporal, queue === "runs" ? runs : { activities: shared[queue]() });
}

/** Creates workers and starts to poll: immediately, or as soon as the database responds. The process ends if one of its workers dies. */
export async function startWorkers(
  { logger, shutdown, payloads }: ServiceProcess,
  create: () => Promise<Parameters<typeof runWorkers>[0]>,
): Promise<Pick<RunningWorkers, "running">> {
  const closing = new AbortController();
  let workers: RunningWorkers | undefined;
  const died = (err: unknown): void => {
    logger.fatal({ err }, "a worker stopped unexpectedly");
    void shutdown.run("worker died").then(() => process.exit(1));
  };
  async function begin(): Promise<void> {
    const made = await create();
    if (closing.signal.aborted) return;
    workers = runWorkers(made);
    workers.done.catch(died);
  }
  async function beginLater(): Promise<void> {
    let loaded = false;
    while (!loaded) {
      await delay(ASK_AGAIN_MS, undefined, { signal: closing.signal });
      loaded = await isLoaded();
    }
    await begin();
  }
  async function isLoaded(): Promise<boolean> {
    try {
      await payloads.load();
      return true;
    } catch (err) {
      logger.warn({ err }, "cannot read the key for data in Temporal; waiting for it");
      return false;
    }
  }
  // Runs first, so that other processes take new work from now on, whatever else this process waits for while it stops.
  shutdown.first("polling", () => {
    closing.abort();
    workers?.stopPolling();
  });
  shutdown.add("workers", () => workers?.stop());
  if (await isLoaded()) await begin();
  else
    beginLater().catch((error: unknown) => {
      if (!closing.signal.aborted) died(error);
    });
  return { running: () => workers?.running() ?? false };
}
