import {
  createEvalActivities,
  createTriggerActivities,
  createIngestActivities,
  createResourceActivities,
  createSyncActivities,
  createNodeActivities,
  createProviderActivities,
  createRecording,
  createRunWorkerParts,
} from "../activities/create.ts";
import { createParseDocument } from "../activities/documents/parse-document.ts";
import { createDocumentParser } from "./platform/parsing/document-parser.ts";
import { createAgentExecutor } from "../activities/nodes/agent/agent.ts";
import { createActionNodeExecutor } from "../activities/nodes/action.ts";
import { createAudioExecutor } from "../activities/nodes/audio.ts";
import { createCodeExecutor } from "../activities/nodes/code.ts";
import { createHttpExecutor } from "../activities/nodes/http.ts";
import { createImageExecutor } from "../activities/nodes/image.ts";
import { createLoadMedia } from "../activities/nodes/media.ts";
import { createKnowledgeExecutor, createKnowledgeQuery } from "../activities/nodes/knowledge.ts";
import { createLlmExecutor } from "../activities/nodes/llm.ts";
import { createRouterExecutor } from "../activities/nodes/router.ts";
import { createUrlExecutor } from "../activities/nodes/url.ts";
import { createExecuteAction } from "../activities/providers/execute-action.ts";
import { createHttpAction } from "../activities/providers/http-action.ts";
import { createMcpAction } from "../activities/providers/mcp-action.ts";
import { createMillraceActions } from "../activities/providers/millrace-actions.ts";
import { createPostgresActions } from "../activities/providers/postgres-actions.ts";
import { createS3Actions } from "../activities/providers/s3-actions.ts";
import { createSmtpActions } from "../activities/providers/smtp-actions.ts";
import { createFailureObserver } from "../activities/observe-failures.ts";
import { createWebhookActivities } from "../activities/webhooks/deliver-shard.ts";
import type { RunReport } from "./domain/runs/run-report.ts";
import { createGuardedSockets } from "./platform/fetch/guarded-sockets.ts";
import { createHealthServer } from "./platform/health-server.ts";
import { createMcpClient } from "./platform/mcp/mcp-client.ts";
import { openProcess } from "./open-process.ts";
import { createSandbox } from "./platform/sandbox/sandbox.ts";
import { startKeepingStatistics } from "./services/system/keep-statistics.ts";
import { startHousekeeping } from "./services/housekeeping.ts";
import { createScorer } from "./services/evals/scorer.ts";
import { runLimits } from "./services/runs/create-run.ts";
import { startEvalSweeper } from "./services/evals/sweeper.ts";
import { startDocumentSweeper } from "./services/documents/document-sweeper.ts";
import { startIngestSweeper } from "./services/knowledge/ingest.ts";
import { startScheduleSweeper } from "./services/knowledge/schedule.ts";
import { startSyncSweeper } from "./services/knowledge/sync.ts";
import { startKnowledgeHousekeeping } from "./services/knowledge/housekeeping.ts";
import { openKnowledge } from "./services/knowledge/open-knowledge.ts";
import { createJudgeModel } from "./services/models/judge-model.ts";
import { openModels } from "./services/models/open-models.ts";
import { createFlowCache } from "./services/projects/flow-cache.ts";
import { createInputCheck } from "./services/providers/action-inputs.ts";
import { startActionSweeper } from "./services/providers/action-runs.ts";
import { createProviderJobs } from "./temporal/providers.ts";
import { createConnectionResolver } from "./services/providers/resolve-connection.ts";
import { createTextWriter } from "./services/runs/write-texts.ts";
import { startSweeper } from "./services/runs/sweeper.ts";
import { createShardStarter } from "./temporal/deliveries.ts";
import { createEvalStarter } from "./temporal/evals.ts";
import { createSyncStarter } from "./temporal/syncs.ts";
import { createResourceStarter } from "./temporal/resources.ts";
import { createRunStarter } from "./temporal/runs.ts";
import {
  createBackgroundWorker,
  createIngestWorker,
  createNodeWorker,
  createRunWorker,
  createWebhookWorker,
  runWorkers,
} from "./temporal/workers.ts";
import { VERSION } from "./version.ts";
import { createSendDelivery } from "./services/webhooks/send.ts";
import { createSchedules } from "./temporal/schedules.ts";
import { startTriggers } from "./services/triggers/start-triggers.ts";
import { startWebhooks } from "./services/webhooks/start-webhooks.ts";

const { config, logger, metrics, observer, shutdown, db, feed, blobs, secrets, evaluation, guardedFetch, temporal } =
  await openProcess("worker");

// A code node ends at its own time-out, which is shorter; this is the net under it.
const sandbox = createSandbox({ timeoutMs: 900_000 });
shutdown.add("code sandbox", () => sandbox.close());
const parser = createDocumentParser({ ocrDataDir: config.MILLRACE_OCR_DATA_DIR });
shutdown.add("document parser", () => parser.close());
const parse = createParseDocument({ parser, blobs });

const knowledge = openKnowledge(config, db);
shutdown.add("models of knowledge bases", () => knowledge.close());

const deps = {
  config,
  db,
  blobs,
  evaluation,
  feed,
  ...createRecording({ config, db, blobs, feed, observer }),
  onFailure: createFailureObserver(metrics, logger),
  onFault: (err: unknown, { run: { run_id, org_id, project_id } }: RunReport) =>
    logger.warn({ err, run_id, org_id, project_id }, "the end of a run could not be written yet"),
};
const sockets = createGuardedSockets({ allow: config.MILLRACE_PRIVATE_HOSTS });
const connections = createConnectionResolver({ db, secrets, guardedFetch });
const runStarter = createRunStarter({
  client: temporal.client,
  taskQueuePrefix: config.MILLRACE_TASK_QUEUE,
  eager: false,
});
const providerJobs = createProviderJobs(temporal.client, config.MILLRACE_TASK_QUEUE, false);
const mcp = createMcpClient(guardedFetch, VERSION);
const query = createKnowledgeQuery(knowledge.deps);
const executeAction = createExecuteAction({
  db,
  connections,
  checkInputs: createInputCheck(evaluation),
  http: createHttpAction({ guardedFetch, version: VERSION }),
  executors: {
    mcp: createMcpAction({ db, mcp }),
    millrace: createMillraceActions({
      db,
      blobs,
      starter: runStarter,
      limits: runLimits(config),
      onStartDelayed: (run_id, err) => logger.warn({ err, run_id }, "run not started at once; the sweeper will"),
      flows: createFlowCache(db, deps.plans),
      query,
      maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    }),
    postgres: createPostgresActions({ sockets }),
    smtp: createSmtpActions({ sockets }),
    s3: createS3Actions({ guardedFetch }),
  },
});
const models = openModels({ config, db, guardedFetch, connections });
shutdown.add("connections to models", () => models.close());
const texts = createTextWriter({
  db,
  feed,
  onError: (err) => logger.warn({ err }, "what a model writes could not be shown"),
});
const load = createLoadMedia({
  db,
  blobs,
  guardedFetch,
  version: VERSION,
  maxBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
});
const nodes = createNodeActivities({
  ...deps,
  executors: {
    http: createHttpExecutor({ evaluation, guardedFetch, version: VERSION }),
    code: createCodeExecutor({ sandbox, evaluation }),
    action: createActionNodeExecutor({ evaluation, executeAction }),
    knowledge: createKnowledgeExecutor({ evaluation, knowledge: knowledge.deps }),
    llm: createLlmExecutor({ db, evaluation, models, texts, load }),
    agent: createAgentExecutor({
      db,
      blobs,
      evaluation,
      models,
      texts,
      executeAction,
      query,
      limits: { max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES },
    }),
    audio: createAudioExecutor({ models, load }),
    image: createImageExecutor({
      models,
      load,
      recognise: (bytes, declared, options) =>
        parse({ ...options, content: { bytes }, filename: null, declared, ocr: true }),
    }),
    router: createRouterExecutor({ evaluation, models }),
    url: createUrlExecutor({
      guardedFetch,
      version: VERSION,
      parseDocument: (bytes, mime, { org_id, charset, signal }) =>
        parse({
          org_id,
          content: { bytes },
          filename: null,
          declared: charset ? `${mime}; charset=${charset}` : mime,
          signal,
        }),
    }),
  },
});
const triggers = startTriggers(
  {
    ...deps,
    flows: createFlowCache(db, deps.plans),
    starter: createRunStarter({ client: temporal.client, taskQueuePrefix: config.MILLRACE_TASK_QUEUE, eager: false }),
    limits: runLimits(config),
    maxInputBytes: config.MILLRACE_INPUT_LIMIT_BYTES,
    onStartDelayed: (run_id, err) => logger.warn({ err, run_id }, "run not started at once; the sweeper will"),
    schedules: createSchedules(temporal.client),
  },
  config.MILLRACE_SWEEP_INTERVAL_MS,
  (err) => logger.warn({ err }, "triggers"),
);
shutdown.add("triggers", () => triggers.close());
const providers = createProviderActivities({
  ...deps,
  connections,
  executeAction,
  guardedFetch,
  mcp,
  sockets,
  version: VERSION,
});
const webhooks = startWebhooks({
  db,
  send: createSendDelivery({
    guardedFetch,
    box: secrets,
    timeoutMs: config.MILLRACE_WEBHOOK_TIMEOUT_MS,
    publicUrl: config.MILLRACE_PUBLIC_URL ?? "",
    version: VERSION,
    onFault: (err, { delivery_id }) => logger.error({ err, delivery_id }, "a delivery failed for a reason of ours"),
  }),
  onRelayed: () => triggers.wake(),
  startShard: createShardStarter(temporal.client, config.MILLRACE_TASK_QUEUE),
  shards: config.MILLRACE_WEBHOOK_SHARDS,
  schedule: config.MILLRACE_WEBHOOK_SCHEDULE_MS,
  timeoutMs: config.MILLRACE_WEBHOOK_TIMEOUT_MS,
  disableAfterMs: config.MILLRACE_WEBHOOK_DISABLE_AFTER_MS,
  disableAttempts: config.MILLRACE_WEBHOOK_DISABLE_ATTEMPTS,
  pollMs: config.MILLRACE_WEBHOOK_POLL_MS,
  // A workflow that has ended is rare: somebody terminated it.
  ensureMs: 12 * config.MILLRACE_SWEEP_INTERVAL_MS,
  totalSlots: config.MILLRACE_WEBHOOK_SLOTS,
  slotsPerSubscription: config.MILLRACE_WEBHOOK_CONCURRENCY,
  onAttempt(job, result) {
    metrics.deliveryAttempted(result.ok ? "delivered" : (result.error_code ?? "failed"));
    if (result.ok) metrics.delivered((Date.now() - Date.parse(job.event.occurred_at)) / 1000);
  },
  onError: (err, job) => logger.warn({ err, delivery_id: job?.delivery_id }, "webhooks"),
});
metrics.gauge("webhook_deliveries_under_way", "Deliveries this process is making", webhooks.inUse);
shutdown.add("webhooks", () => webhooks.close(config.MILLRACE_SHUTDOWN_GRACE_MS));
const ingest = {
  ...createIngestActivities({ ...deps, parse }),
  ...createResourceActivities({
    ...deps,
    parser,
    guardedFetch,
    version: VERSION,
    maxBytes: config.MILLRACE_UPLOAD_LIMIT_BYTES,
    knowledge: knowledge.deps,
    maxAttempts: config.MILLRACE_EMBEDDINGS_ATTEMPTS,
  }),
};
const evals = createEvalActivities({
  ...deps,
  guardedFetch,
  maxBytes: config.MILLRACE_UPLOAD_LIMIT_BYTES,
  limits: { ...runLimits(config), max_input_bytes: config.MILLRACE_INPUT_LIMIT_BYTES },
  scorer: createScorer({
    evaluation,
    embedders: knowledge.deps.embedders,
    sandbox,
    guardedFetch,
    secrets,
    judge: createJudgeModel(models),
    version: VERSION,
  }),
});
const resources = createResourceStarter(temporal.client, config.MILLRACE_TASK_QUEUE);
const syncs = createSyncStarter(temporal.client, config.MILLRACE_TASK_QUEUE);
const syncActivities = createSyncActivities({
  ...deps,
  logger,
  resources,
  syncs,
  connections,
  guardedFetch,
  version: VERSION,
  maxBytes: config.MILLRACE_UPLOAD_LIMIT_BYTES,
  maxPages: config.MILLRACE_SYNC_MAX_PAGES,
  delayMs: config.MILLRACE_SITE_DELAY_MS,
});
const triggerActivities = createTriggerActivities({ ...deps, connections, sockets, guardedFetch, version: VERSION });
const workers = runWorkers([
  await createRunWorker(config, temporal.connection, createRunWorkerParts(deps)),
  await createNodeWorker(config, temporal.connection, { ...nodes, ...providers }),
  await createIngestWorker(config, temporal.connection, ingest),
  await createBackgroundWorker(config, temporal.connection, { ...evals, ...syncActivities, ...triggerActivities }),
  await createWebhookWorker(
    config,
    temporal.connection,
    createWebhookActivities(webhooks.deliverer, config.MILLRACE_WEBHOOK_SHARDS),
  ),
]);
shutdown.add("workers", () => workers.stop());
// Ahead of the workers: their activities end, and other processes take the shards.
shutdown.add("shards of deliveries", () => webhooks.deliverer.leave());
workers.done.catch((err: unknown) => {
  logger.fatal({ err }, "a worker has died");
  void shutdown.run("worker died").then(() => process.exit(1));
});

const sweeper = startSweeper({
  db,
  plans: deps.plans,
  feed,
  observer,
  recorder: deps.recorder,
  starter: runStarter,
  intervalMs: config.MILLRACE_SWEEP_INTERVAL_MS,
  stuckAfterMs: config.MILLRACE_STUCK_AFTER_MS,
  onSwept(outcome, run_id, err) {
    metrics.swept({ sweeper: "runs", outcome });
    if (err) logger.warn({ run_id, err }, "sweeper");
    else logger.info({ run_id, outcome }, "sweeper");
  },
});
shutdown.add("sweeper", () => sweeper.close());
const documentSweeper = startDocumentSweeper({ db, starter: runStarter }, config.MILLRACE_SWEEP_INTERVAL_MS, (err) =>
  logger.warn({ err }, "documents"),
);
shutdown.add("documents", () => documentSweeper.close());
// These find only what a process that died has left behind, so they look less often than at runs.
const recoveryMs = 3 * config.MILLRACE_SWEEP_INTERVAL_MS;
const actionSweeper = startActionSweeper({ db, providerJobs }, recoveryMs, (err) =>
  logger.warn({ err }, "runs of actions"),
);
shutdown.add("runs of actions", () => actionSweeper.close());
const housekeeping = startHousekeeping(db, blobs, {
  eventRetentionMs: config.MILLRACE_EVENT_RETENTION_MS,
  runRetentionDays: config.MILLRACE_RUN_RETENTION_DAYS,
  monitorRetentionDays: config.MILLRACE_MONITOR_RETENTION_DAYS,
  onSwept: (removed) => logger.info({ removed }, "blobs that nothing referred to are removed"),
  onError: (err) => logger.warn({ err }, "housekeeping"),
});
shutdown.add("housekeeping", () => housekeeping.close());
const statistics = startKeepingStatistics(db, (err) => logger.warn({ err }, "statistics of tables"));
shutdown.add("statistics", () => statistics.close());
const knowledgeHousekeeping = startKnowledgeHousekeeping(db, blobs, (err) => logger.warn({ err }, "knowledge bases"));
shutdown.add("knowledge bases", () => knowledgeHousekeeping.close());
const unindexed = startIngestSweeper({ db, resources }, recoveryMs, (err) =>
  logger.warn({ err }, "resources to be indexed"),
);
shutdown.add("resources to be indexed", () => unindexed.close());
const idleSyncs = startSyncSweeper({ db, syncs }, recoveryMs, (err) =>
  logger.warn({ err }, "syncs of knowledge bases"),
);
shutdown.add("syncs of knowledge bases", () => idleSyncs.close());
const schedules = startScheduleSweeper({ db, syncs }, recoveryMs, (err) =>
  logger.warn({ err }, "schedules of knowledge bases"),
);
shutdown.add("schedules of knowledge bases", () => schedules.close());

const evalSweeper = startEvalSweeper(
  {
    config,
    db,
    evals: createEvalStarter(temporal.client, config.MILLRACE_TASK_QUEUE),
    schedules: createSchedules(temporal.client),
  },
  recoveryMs,
  (err) => logger.warn({ err }, "evals"),
);
shutdown.add("evals", () => evalSweeper.close());

if (config.MILLRACE_WORKER_PORT !== undefined) {
  const readiness = {
    postgres: () => db.ping(),
    temporal: () => temporal.ping(),
    async workers() {
      if (!workers.running()) throw new Error("the workers do not poll");
    },
  };
  const server = createHealthServer(metrics, readiness, logger);
  server.listen(config.MILLRACE_WORKER_PORT, config.HOST);
  shutdown.add("health server", () => void server.close());
}
// Ahead of the first run: a process takes a tenth of a second to start.
await Promise.all([sandbox.warm(), parser.warm()]);
logger.info({ queue: config.MILLRACE_TASK_QUEUE }, "worker ready");
