import type { AddressInfo } from "node:net";
import { createRecording, createRunWorkerParts } from "../activities/create.ts";
import { createFailureObserver } from "../activities/observe-failures.ts";
import { createApp } from "./api/app.ts";
import { createApiServer } from "./api/server.ts";
import { openProcess } from "./open-process.ts";
import { openKnowledge } from "./services/knowledge/open-knowledge.ts";
import { createProviderJobs } from "./temporal/providers.ts";
import { createSandbox } from "./platform/sandbox/sandbox.ts";
import { createJudgeModel } from "./services/models/judge-model.ts";
import { openModels } from "./services/models/open-models.ts";
import { createConnectionResolver } from "./services/providers/resolve-connection.ts";
import { createScorer } from "./services/evals/scorer.ts";
import { createEvalStarter } from "./temporal/evals.ts";
import { createResourceStarter } from "./temporal/resources.ts";
import { createSyncStarter } from "./temporal/syncs.ts";
import { createRunStarter } from "./temporal/runs.ts";
import { VERSION } from "./version.ts";
import { createSchedules } from "./temporal/schedules.ts";
import { createRunWorker, runWorkers } from "./temporal/workers.ts";

const { config, logger, metrics, observer, shutdown, db, feed, blobs, secrets, evaluation, guardedFetch, temporal } =
  await openProcess("api");

const recording = createRecording({ config, db, blobs, feed, observer });
if (config.MILLRACE_API_WORKER) {
  // Run workflows start here without a round trip through a task queue; the workers take over what this process leaves.
  const parts = createRunWorkerParts({
    config,
    db,
    blobs,
    evaluation,
    feed,
    ...recording,
    onFailure: createFailureObserver(metrics, logger),
    onFault: (err, { run: { run_id, org_id, project_id } }) =>
      logger.warn({ err, run_id, org_id, project_id }, "the end of a run could not be written yet"),
  });
  const workers = runWorkers([await createRunWorker(config, temporal.connection, parts)]);
  shutdown.add("workers", () => workers.stop());
  workers.done.catch((err: unknown) => {
    logger.fatal({ err }, "the worker has died");
    void shutdown.run("worker died").then(() => process.exit(1));
  });
}

const knowledge = openKnowledge(config, db);
shutdown.add("knowledge bases", () => knowledge.close());
// Only for previews of evaluators that are code: its processes start with the first of them.
const sandbox = createSandbox({ size: 2, timeoutMs: 10_000 });
shutdown.add("code sandbox", () => sandbox.close());
// Only for previews of evaluators that ask a model.
const connections = createConnectionResolver({ db, secrets, guardedFetch });
const models = openModels({ config, db, guardedFetch, connections });
shutdown.add("connections to models", () => models.close());
const { app, drain, close } = createApp({
  config,
  db,
  blobs,
  plans: recording.plans,
  feed,
  evaluation,
  guardedFetch,
  secrets,
  knowledge,
  logger,
  metrics,
  observer,
  resources: createResourceStarter(temporal.client, config.MILLRACE_TASK_QUEUE),
  scorer: createScorer({
    evaluation,
    embedders: knowledge.deps.embedders,
    sandbox,
    guardedFetch,
    secrets,
    judge: createJudgeModel(models),
    version: VERSION,
  }),
  schedules: createSchedules(temporal.client),
  providerJobs: createProviderJobs(temporal.client, config.MILLRACE_TASK_QUEUE, config.MILLRACE_API_WORKER),
  evals: createEvalStarter(temporal.client, config.MILLRACE_TASK_QUEUE),
  syncs: createSyncStarter(temporal.client, config.MILLRACE_TASK_QUEUE),
  runs: createRunStarter({
    client: temporal.client,
    taskQueuePrefix: config.MILLRACE_TASK_QUEUE,
    eager: config.MILLRACE_API_WORKER,
  }),
  readiness: { postgres: () => db.ping(), temporal: () => temporal.ping() },
});
shutdown.add("api", close);
const server = createApiServer(app.callback(), logger);
// Longer than a sync wait, so that a slow upload or a waiting caller is not cut off by the server itself.
server.requestTimeout = Math.max(300_000, config.MILLRACE_SYNC_WAIT_MS + 60_000);
await new Promise<void>((resolve, reject) => {
  server.once("error", reject);
  server.listen(config.PORT, config.HOST, resolve);
});
shutdown.add("http", async () => {
  drain();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Requests under way get the grace time; who waits for a run was answered above, and the run goes on.
  const cut = setTimeout(() => server.closeAllConnections(), config.MILLRACE_SHUTDOWN_GRACE_MS);
  await closed;
  clearTimeout(cut);
});
logger.info({ port: (server.address() as AddressInfo).port }, "api ready");
