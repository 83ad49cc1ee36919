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
import { createEvalStarter } from "./temporal/evals.ts";
import { createProviderJobs } from "./temporal/providers.ts";
import { createResourceStarter } from "./temporal/resources.ts";
import { createRunJobStarter } from "./temporal/run-jobs.ts";
import { createRunStarter } from "./temporal/runs.ts";
import { createSchedules } from "./temporal/schedules.ts";
import { createSyncStarter } from "./temporal/syncs.ts";
import { createRunWorker } from "./temporal/workers.ts";

const api = await openProcess("api");
const { config, logger, shutdown, temporal } = api;
const { client } = temporal;
const prefix = config.MILLRACE_TASK_QUEUE;

const runs = openRuns(api);
if (config.MILLRACE_API_WORKER) {
  // Run workflows start here without a round trip through a task queue; the workers take over what this process leaves.
  await sweepBeforePolling(runs.sweeping);
  await startWorkers(api, async () => [await createRunWorker(config, temporal, createRunWorkerParts(runs.activities))]);
}

const eager = config.MILLRACE_API_WORKER ? await openEagerStarts(api) : () => false;
const knowledge = openKnowledgeModels(api);
// Sandbox and models are for previews of evaluators only; processes start with the first of them.
const sandbox = createSandbox({ size: 2, timeoutMs: 10_000 });
shutdown.add("code sandbox", () => sandbox.close());
const models = openModels(api);
const { app, drain, close } = createApp({
  ...api,
  plans: runs.activities.plans,
  knowledge,
  scorer: openScorer(api, { sandbox, knowledge, models }),
  resources: createResourceStarter(client, prefix),
  schedules: createSchedules(client, prefix),
  providerJobs: createProviderJobs(client, prefix, eager),
  evals: createEvalStarter(client, prefix),
  syncs: createSyncStarter(client, prefix),
  runJobs: createRunJobStarter(client, prefix),
  describeQueues: temporal.describeQueues,
  runs: createRunStarter({ client, taskQueuePrefix: prefix, eager }),
});
shutdown.add("api", close);
const server = createApiServer(app.callback(), logger);
// Longer than a sync wait, so that a slow upload or a waiting caller is not cut off by the server itself.
server.requestTimeout = Math.max(300_000, config.MILLRACE_SYNC_WAIT_MS + 60_000);
const port = await listen(server, { host: config.HOST, port: config.PORT, setting: "PORT" });
shutdown.add("http", async () => {
  drain();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Requests under way get the grace time; who waits for a run was answered above, and the run goes on.
  const cut = setTimeout(() => server.closeAllConnections(), config.MILLRACE_SHUTDOWN_GRACE_MS);
  await closed;
  clearTimeout(cut);
});
await openHealth(api, "MILLRACE_METRICS_PORT", api.readiness);
logger.info({ port }, "api ready");
