import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadConfig, mistakenSettings, requireConfig, type Config } from "../config.ts";
import { directoryOf } from "../platform/blobs/blob-place.ts";
import { DirectoryUnusable, openBlobStore } from "../platform/blobs/blobs.ts";
import { createSealedStore } from "../platform/blobs/sealed-store.ts";
import { createEvaluation } from "../platform/evaluation/evaluation.ts";
import { createGuardedFetch } from "../platform/fetch/guarded-fetch.ts";
import { createLogger, type Logger } from "../platform/logging/logger.ts";
import { NotReady } from "../platform/readiness.ts";
import { existingMasterKeys, masterKeys } from "../platform/secrets/master-key.ts";
import { createMetrics, type Metrics } from "../platform/metrics.ts";
import { createSecretBox } from "../platform/secrets/seal.ts";
import { createDataKeys } from "../services/secrets/data-keys.ts";
import { MISSING_KEYS_ADVICE, missingKeys } from "../services/secrets/needed-keys.ts";
import { createPayloads, KeyUnreadable, type Payloads } from "../services/secrets/payloads.ts";
import { createShutdown } from "./shutdown.ts";
import { isConnectionError, openDatabase, type Database } from "../stores/db.ts";
import { openRunFeed } from "../stores/runs/run-feed.ts";
import { RoleMissing, UnsafeSession } from "../stores/session.ts";
import { findUnsupported } from "../stores/server.ts";
import { connectTemporal } from "../temporal/connection.ts";
import { installTemporalRuntime } from "../temporal/runtime.ts";
import { callHeaders } from "../platform/fetch/own-calls.ts";
import { createRunObserver } from "../services/runs/run-observer.ts";
import { createRunTraces, NO_TRACES } from "../services/runs/run-traces.ts";
import { createStartInputs } from "../services/runs/start-inputs.ts";
import { reasonOf } from "../services/system/checks/finding.ts";
import { adviceOn, type DatabaseSetting } from "../services/system/checks/postgres.ts";
import { assertSchema } from "../services/system/check-schema.ts";
import { createReplicaReads, readsOf, type Reads } from "../services/system/reads.ts";
import { addGauges } from "../services/system/gauges.ts";
import { openOtlp } from "../platform/tracing/otlp.ts";
import { createTracer, type Tracer } from "../platform/tracing/tracer.ts";
import { VERSION } from "../version.ts";

/** Three levels up, because this file runs from dist/src/processes. */
const MIGRATIONS = fileURLToPath(new URL("../../../migrations", import.meta.url));

/**
 * Opens what api and worker have in common, with the settings of the environment. Waits until Temporal responds. `shutdown` closes all of
 * it, after whatever is added to `shutdown` later.
 */
export async function openProcess(service: "api" | "worker") {
  const config = requireConfig(loadConfig);
  const logger = createLogger({ level: config.LOG_LEVEL, service });
  const mistakes = mistakenSettings();
  if (mistakes.length > 0) logger.warn(mistakes.join(" "));
  const metrics = createMetrics({ service, projects: config.MILLRACE_METRICS_PROJECTS });
  installTemporalRuntime(logger);
  const drainMs = service === "api" ? config.MILLRACE_DRAIN_MS : 0;
  const warn = (err: unknown, message: string): void => logger.warn({ err }, message);
  const shutdown = createShutdown(logger, drainMs + config.MILLRACE_SHUTDOWN_GRACE_MS + 10_000);

  const db = openDatabase({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: `millrace-${service}`,
    onError: (err) => logger.warn({ err }, "a database connection failed"),
  });
  shutdown.add("database", () => db.close());
  await refuseUnfit(db, "DATABASE_URL");
  const reads = service === "api" ? await openReads(config, db, { metrics, logger, shutdown }) : readsOf(db);
  const feed = openRunFeed(db, (err) => logger.warn({ err }, "the feed of run events failed"));
  shutdown.add("feed of run events", () => feed.close());
  const stored = await openBlobStore(config).catch((error: unknown) => {
    if (error instanceof DirectoryUnusable) return refuse(`MILLRACE_BLOB_URL: ${error.message}`);
    throw error;
  });
  shutdown.add("blobs", () => stored.close());
  const blobDir = directoryOf(config.MILLRACE_BLOB_URL);
  const secrets = createSecretBox(await openMasterKeys(config, db, blobDir));
  const seals = config.MILLRACE_SEAL_BLOBS;
  const blobs =
    seals === "off"
      ? stored
      : createSealedStore(stored, createDataKeys(db, secrets, "blobs"), { seals: seals === "on" });
  const payloads = createPayloads(config, db, secrets);
  await refuseUnreadable(payloads);
  const startInputs = createStartInputs(payloads.cipher, { seals: payloads.encrypts });
  const tracer = await openTracer(config, { service, metrics, logger });
  const traces = tracer ? createRunTraces(db, tracer) : NO_TRACES;
  if (tracer) shutdown.add("traces", () => traces.settled().then(() => tracer.close()));
  const observer = createRunObserver(metrics, logger, traces);
  const evaluation = createEvaluation();
  shutdown.add("evaluation", () => evaluation.close());
  const guardedFetch = createGuardedFetch({
    allow: config.MILLRACE_PRIVATE_HOSTS,
    onRequest: (outcome) => metrics.outboundRequest(outcome),
    callHeaders: () => callHeaders(secrets),
  });
  shutdown.add("outbound connections", () => guardedFetch.close());
  const temporal = await connectTemporal(config, payloads.dataConverter, warn);
  shutdown.add("temporal", () => temporal.close());
  const { describeQueues, deployment } = temporal;
  addGauges({ db, metrics, blobDir, describeQueues, deployment, onError: warn });

  const readiness = { ...postgresReadiness(db), temporal: () => temporal.ping() };
  return {
    config,
    logger,
    metrics,
    observer,
    tracer,
    traces,
    shutdown,
    db,
    reads,
    feed,
    blobs,
    secrets,
    payloads,
    startInputs,
    evaluation,
    guardedFetch,
    temporal,
    readiness,
  };
}

/** Opens the database for lists: the replica, if there is one. */
async function openReads(
  config: Config,
  db: Database,
  { metrics, logger, shutdown }: { metrics: Metrics; logger: Logger; shutdown: ReturnType<typeof createShutdown> },
): Promise<Reads> {
  const url = config.DATABASE_REPLICA_URL;
  if (url === undefined) return readsOf(db);
  const replica = openDatabase({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: "millrace-api-reads",
    onError: (err) => logger.warn({ err }, "a connection to the replica failed"),
  });
  shutdown.add("replica", () => replica.close());
  await refuseUnfit(replica, "DATABASE_REPLICA_URL");
  const reads = createReplicaReads(db, replica, {
    maxLagMs: config.MILLRACE_REPLICA_MAX_LAG_MS,
    metrics,
    onError: (err, message) => logger.warn({ err }, message),
  });
  shutdown.add("checking the replica", () => reads.close());
  return reads;
}

/** The common parts of an open process, from which the other modules of this folder open their capabilities. */
export type ServiceProcess = Awaited<ReturnType<typeof openProcess>>;

/** Returns a function that logs an error of a part that will retry. */
export function warning({ logger }: Pick<ServiceProcess, "logger">, message: string): (err: unknown) => void {
  return (err) => logger.warn({ err }, message);
}

/**
 * Ends the process and prints only the reason if Postgres refuses the login, if its version is not supported, or if its sessions would not
 * be restricted to the rows of one organisation. Skips the checks if the server does not respond yet, or has not been migrated.
 */
async function refuseUnfit(db: Database, setting: DatabaseSetting): Promise<void> {
  try {
    const unsupported = await db.system(findUnsupported);
    if (unsupported !== undefined) return refuse(`${setting}: ${unsupported}`);
    await db.verify();
  } catch (error) {
    if (error instanceof UnsafeSession && !(error instanceof RoleMissing))
      return refuse(`${setting}: ${error.message}`);
    if (!isConnectionError(error))
      refuse(`${setting}: ${reasonOf(error as Error)}. ${adviceOn(error as Error, setting)}`);
  }
}

/** The master keys. A key is created if there is none, unless the database has secrets that it could not open. */
async function openMasterKeys({ MILLRACE_MASTER_KEY: configured }: Config, db: Database, directory?: string) {
  const known = await existingMasterKeys(configured, directory);
  if (known || directory === undefined) return known ?? masterKeys(configured, directory);
  const missing = await missingKeys(db, join(directory, "master.key"));
  // Another process may have created the key meanwhile, which happens before its first secret.
  if (missing !== undefined && !(await existingMasterKeys(configured, directory)))
    refuse(`Master key: ${missing}. ${MISSING_KEYS_ADVICE}`);
  return masterKeys(configured, directory);
}

/**
 * Ends the process in the same way if a master key is missing or wrong. Skips the check if the server does not respond yet, or has not been
 * migrated.
 */
async function refuseUnreadable(payloads: Payloads): Promise<void> {
  await payloads.load().catch((error: unknown) => {
    if (error instanceof KeyUnreadable) refuse(error.message);
  });
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

/** Checks for /readyz that the process can use Postgres. Anyone may read that response, so only `millrace doctor` gives details. */
function postgresReadiness(db: Database) {
  return {
    async postgres(): Promise<void> {
      try {
        await db.ping();
      } catch (error) {
        if (!(error instanceof UnsafeSession) || error instanceof RoleMissing) throw error;
        const message = "database sessions are not restricted to one organisation's rows";
        throw new NotReady(message, "Run `millrace doctor`.", { cause: error });
      }
    },
    schema: () => assertSchema(db, MIGRATIONS),
  };
}

/** The tracer, if the operator has configured a collector. */
async function openTracer(
  config: Config,
  { service, metrics, logger }: { service: "api" | "worker"; metrics: Metrics; logger: Logger },
): Promise<Tracer | undefined> {
  const endpoint = config.MILLRACE_OTLP_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return undefined;
  const headers = config.OTEL_EXPORTER_OTLP_HEADERS ?? {};
  return createTracer({
    exporter: await openOtlp({ endpoint, headers, service, version: VERSION }),
    ratio: config.MILLRACE_TRACE_RATIO,
    propagates: config.MILLRACE_TRACE_PROPAGATION,
    content: config.MILLRACE_TRACE_CONTENT,
    queued: config.OTEL_BSP_MAX_QUEUE_SIZE,
    intervalMs: config.OTEL_BSP_SCHEDULE_DELAY,
    onSpans: (outcome, count) => metrics.spans(outcome, count),
    onError: (err) => logger.warn({ err }, "could not send spans"),
  });
}
