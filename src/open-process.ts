import { requireConfig } from "./config.ts";
import { directoryOf } from "./platform/blobs/blob-place.ts";
import { openBlobStore } from "./platform/blobs/blobs.ts";
import { createEvaluation } from "./platform/evaluation/evaluation.ts";
import { createGuardedFetch } from "./platform/fetch/guarded-fetch.ts";
import { createLogger } from "./platform/logging/logger.ts";
import { masterKeys } from "./platform/secrets/master-key.ts";
import { createMetrics } from "./platform/metrics.ts";
import { createSecretBox } from "./platform/secrets/seal.ts";
import { createShutdown } from "./shutdown.ts";
import { openDatabase } from "./stores/db.ts";
import { openRunFeed } from "./stores/runs/run-feed.ts";
import { connectTemporal } from "./temporal/connection.ts";
import { installTemporalRuntime } from "./temporal/runtime.ts";
import { createRunObserver } from "./services/runs/run-observer.ts";
import { addGauges } from "./services/system/gauges.ts";

/**
 * Opens what api and worker have in common, by the configuration in the environment. All of it is closed by `shutdown`,
 * after whatever is added there later. Waits until Temporal is there.
 */
export async function openProcess(service: "api" | "worker") {
  const config = requireConfig();
  const logger = createLogger({ level: config.LOG_LEVEL, service });
  const metrics = createMetrics({ service });
  installTemporalRuntime(logger);
  const shutdown = createShutdown(logger, config.MILLRACE_SHUTDOWN_GRACE_MS + 10_000);

  const db = openDatabase({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: `millrace-${service}`,
    onError: (err) => logger.warn({ err }, "database connection"),
  });
  shutdown.add("database", () => db.close());
  const feed = openRunFeed(db, (err) => logger.warn({ err }, "run feed"));
  shutdown.add("run feed", () => feed.close());
  const blobs = await openBlobStore(config);
  shutdown.add("blobs", () => blobs.close());
  const blobDir = directoryOf(config.MILLRACE_BLOB_URL);
  const secrets = createSecretBox(await masterKeys(config.MILLRACE_MASTER_KEY, blobDir));
  const observer = createRunObserver(metrics, logger);
  const evaluation = createEvaluation();
  shutdown.add("evaluation", () => evaluation.close());
  const guardedFetch = createGuardedFetch({
    allow: config.MILLRACE_PRIVATE_HOSTS,
    onRequest: (outcome) => metrics.outboundRequest(outcome),
  });
  shutdown.add("outbound connections", () => guardedFetch.close());
  const temporal = await connectTemporal(config, (err, message) => logger.warn({ err }, message));
  shutdown.add("temporal", () => temporal.close());
  addGauges({
    db,
    metrics,
    blobDir,
    describeQueues: temporal.describeQueues,
    onError: (err, message) => logger.warn({ err }, message),
  });

  return { config, logger, metrics, observer, shutdown, db, feed, blobs, secrets, evaluation, guardedFetch, temporal };
}
