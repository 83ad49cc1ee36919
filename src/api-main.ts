import { setTimeout as delay } from "node:timers/promises";
import { createRunWorkerParts } from "../activities/create.ts";
import { createApp } from "./api/app.ts";
import { createApiServer } from "./api/server.ts";
import { createSandbox } from "./platform/sandbox/sandbox.ts";
import { openScorer } from "./processes/evals.ts";
import { openHealth } from "./processes/health.ts";
import { listen } from "./processes/listen.ts";
import { openKnowledgeModels } from "./processes/knowledge.ts";
import { openModels } from "./processes/models.ts";
import { openProcess } from "./processes/open-process.ts";
import { openEagerStarts } from "./processes/eager-starts.ts";
import { openRuns } from "./processes/runs.ts";
import { startWorkers } from "./processes/workers.ts";
import { sweepBeforePolling } from "./services/runs/sweeper.ts";
import { createProviderJobs } from "./temporal/providers.ts";
import { createRunStarter } from "./temporal/runs.ts";
import { createSchedules } from "./temporal/schedules.ts";
import { createWorker } from "./temporal/workers.ts";

const api = await openProcess("api");
const { config, logger, shutdown, temporal } = api;
const { client } = temporal;
const prefix = config.MILLRACE_TASK_QUEUE;

const runs = openRuns(api);
if (config.MILLRACE_API_WORKER) {
  // An API process starts run workflows eagerly, without a round trip through a task queue; workers take the rest.
  await sweepBeforePolling(runs.sweeping);
  await startWorkers(api, async () => [
    await createWorker("runs", config, temporal, createRunWorkerParts(runs.activities)),
  ]);
}

const eager = config.MILLRACE_API_WORKER ? await openEagerStarts(api) : () => false;
const knowledge = openKnowledgeModels(api);
// The sandbox and models are only for previews of evaluators; their processes start with the first preview.
const sandbox = createSandbox({ size: 2, timeoutMs: 10_000 });
shutdown.add("code sandbox", () => sandbox.close());
const models = openModels(api);
const { app, drain, close } = createApp({
  ...api,
  stopping: shutdown.stopping,
  plans: runs.activities.plans,
  knowledge,
  scorer: openScorer(api, { sandbox, knowledge, models }),
  schedules: createSchedules(client, prefix),
  providerJobs: createProviderJobs(client, prefix, eager),
  describeQueues: temporal.describeQueues,
  starter: createRunStarter({ client, taskQueuePrefix: prefix, eager }),
});
shutdown.add("api", close);
const server = createApiServer(app.callback(), logger, shutdown.stopping);
// Longer than a sync wait, so that the server itself does not cut off a slow upload or a waiting caller.
server.requestTimeout = Math.max(300_000, config.MILLRACE_SYNC_WAIT_MS + 60_000);
const port = await listen(server, { host: config.HOST, port: config.PORT, setting: "PORT" });
shutdown.add("http", async () => {
  drain();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Requests in progress get the grace time. Callers that wait for a run got a response in `drain` above, and their runs continue.
  const cut = setTimeout(() => server.closeAllConnections(), config.MILLRACE_SHUTDOWN_GRACE_MS);
  await closed;
  clearTimeout(cut);
});
// First of all steps: requests are served as usual until the load balancer has seen that this process is not ready.
shutdown.first("drain", (asked) => (asked ? delay(config.MILLRACE_DRAIN_MS) : undefined));
await openHealth(api, "MILLRACE_METRICS_PORT", api.readiness);
logger.info({ port }, "api ready");
