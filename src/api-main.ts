import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRunWorkerParts } from "../activities/create.ts";
import { createApp } from "./api/app.ts";
import { loadConfig } from "./config.ts";
import { createFileBlobStore } from "./platform/blobs.ts";
import { createGuardedFetch } from "./platform/guarded-fetch.ts";
import { createLogger } from "./platform/logger.ts";
import { masterKeys } from "./platform/master-key.ts";
import { createMetrics } from "./platform/metrics.ts";
import { createSecretBox } from "./platform/seal.ts";
import { createShutdown } from "./shutdown.ts";
import { openDatabase } from "./stores/db.ts";
import { openRunFeed } from "./stores/run-feed.ts";
import { connectTemporal } from "./temporal/connection.ts";
import { createRunStarter } from "./temporal/runs.ts";
import { installTemporalRuntime } from "./temporal/runtime.ts";
import { createRunWorker, runWorkers } from "./temporal/workers.ts";
import { watchEvents } from "./webhooks/watch-events.ts";

const config = loadConfig();
const logger = createLogger({ level: config.LOG_LEVEL, service: "api" });
const metrics = createMetrics({ service: "api" });
installTemporalRuntime(logger);
const shutdown = createShutdown(logger, config.MILLRACE_SHUTDOWN_GRACE_MS + 10_000);

const db = openDatabase({
  url: config.DATABASE_URL,
  poolSize: config.DATABASE_POOL_SIZE,
  applicationName: "millrace-api",
  onError: (err) => logger.warn({ err }, "database connection"),
});
shutdown.add("database", () => db.close());
const feed = openRunFeed(db, (err) => logger.warn({ err }, "run feed"));
shutdown.add("run feed", () => feed.close());
const blobs = await createFileBlobStore(config.MILLRACE_BLOB_DIR);
shutdown.add("blobs", () => blobs.close());
const guardedFetch = createGuardedFetch({ allow: config.MILLRACE_PRIVATE_HOSTS });
shutdown.add("outbound connections", () => guardedFetch.close());
const secrets = createSecretBox(await masterKeys(config.MILLRACE_MASTER_KEY, config.MILLRACE_BLOB_DIR));
const temporal = await connectTemporal(config, (err, message) => logger.warn({ err }, message));
shutdown.add("temporal", () => temporal.close());

if (config.MILLRACE_API_WORKER) {
  // Run workflows start here without a round trip through a task queue; the workers take over what this process leaves.
  const parts = createRunWorkerParts({
    config,
    db,
    blobs,
    feed,
    onFault: (err, { run }) => logger.warn({ err, run_id: run.run_id }, "the end of a run could not be written yet"),
  });
  const workers = runWorkers([await createRunWorker(config, temporal.connection, parts)]);
  shutdown.add("workers", () => workers.stop());
  workers.done.catch((err: unknown) => {
    logger.fatal({ err }, "the worker has died");
    void shutdown.run("worker died").then(() => process.exit(1));
  });
}

const watch = watchEvents(db, metrics, (err) => logger.warn({ err }, "metrics of events"));
shutdown.add("metrics of events", () => watch.close());

const { app, drain, close } = createApp({
  config,
  db,
  blobs,
  feed,
  guardedFetch,
  secrets,
  logger,
  metrics,
  runs: createRunStarter({
    client: temporal.client,
    taskQueuePrefix: config.MILLRACE_TASK_QUEUE,
    eager: config.MILLRACE_API_WORKER,
  }),
  readiness: { postgres: () => db.ping(), temporal: () => temporal.ping() },
});
shutdown.add("api", close);
const server = createServer(app.callback());
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
