import { createPlanCache } from "../../src/services/projects/plans.ts";
import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Writable } from "node:stream";
import { inject } from "vitest";
import { createApp } from "../../src/api/app.ts";
import type { ApiDeps } from "../../src/api/deps.ts";
import { createApiServer } from "../../src/api/server.ts";
import { loadConfig } from "../../src/config.ts";
import { createFileBlobStore } from "../../src/platform/blobs/blobs.ts";
import { createEvaluation } from "../../src/platform/evaluation/evaluation.ts";
import { createGuardedFetch } from "../../src/platform/fetch/guarded-fetch.ts";
import { createLogger } from "../../src/platform/logging/logger.ts";
import { masterKeys } from "../../src/platform/secrets/master-key.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { createSecretBox } from "../../src/platform/secrets/seal.ts";
import { openKnowledge } from "../../src/services/knowledge/open-knowledge.ts";
import { createRunObserver } from "../../src/services/runs/run-observer.ts";
import { createStartInputs } from "../../src/services/runs/start-inputs.ts";
import { createPayloads } from "../../src/services/secrets/payloads.ts";
import { readsOf } from "../../src/services/system/reads.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import type { OrgPatience } from "../../src/stores/org-places.ts";
import { openRunFeed } from "../../src/stores/runs/run-feed.ts";
import { connectTemporal } from "../../src/temporal/connection.ts";
import { createProviderJobs } from "../../src/temporal/providers.ts";
import { createSandbox } from "../../src/platform/sandbox/sandbox.ts";
import { createJudgeModel } from "../../src/services/models/judge-model.ts";
import { openModels } from "../../src/services/models/open-models.ts";
import { createConnectionResolver } from "../../src/services/providers/resolve-connection.ts";
import { createScorer } from "../../src/services/evals/scorer.ts";
import { VERSION } from "../../src/version.ts";
import { createRunStarter } from "../../src/temporal/runs.ts";
import { createSchedules } from "../../src/temporal/schedules.ts";
import { MASTER_KEY } from "../support/payloads.ts";
import { cloneDatabase } from "../support/database.ts";

/** An API inside the test process, for tests that inspect or configure it. */
export interface InProcessApi {
  readonly url: string;
  readonly databaseUrl: string;
  readonly db: Database;
  readonly logs: () => string;
  close(): Promise<void>;
}

export interface InProcessOptions {
  /** Environment variables; see src/config.ts. */
  readonly env?: Record<string, string>;
  /** Database of another API, to act as a second process. */
  readonly databaseUrl?: string;
  readonly readiness?: Partial<ApiDeps["readiness"]>;
  readonly patience?: OrgPatience;
  readonly describeQueues?: ApiDeps["describeQueues"];
}

/** Starts an API on its own database, with the shared Temporal server. */
export async function startInProcess(options: InProcessOptions = {}): Promise<InProcessApi> {
  const clone = options.databaseUrl === undefined ? await cloneDatabase() : null;
  const databaseUrl = options.databaseUrl ?? clone?.url ?? "";
  const { temporalAddress, stateDir } = inject("millrace");
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    MILLRACE_MASTER_KEY: MASTER_KEY,
    ...options.env,
  });
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: "info", service: "api", destination });
  const db = openDatabase({
    url: databaseUrl,
    poolSize: 5,
    applicationName: "millrace-test",
    onError: () => undefined,
    ...(options.patience && { patience: options.patience }),
  });
  const blobDir = mkdtempSync(join(stateDir, "blobs-"));
  const blobs = await createFileBlobStore(blobDir);
  const evaluation = createEvaluation();
  const guardedFetch = createGuardedFetch({ allow: config.MILLRACE_PRIVATE_HOSTS });
  const secrets = createSecretBox(await masterKeys(config.MILLRACE_MASTER_KEY, blobDir));
  const payloads = createPayloads(config, db, secrets);
  const feed = openRunFeed(db, () => undefined);
  const temporal = await connectTemporal(config, payloads.dataConverter);
  const runs = createRunStarter({
    client: temporal.client,
    taskQueuePrefix: config.MILLRACE_TASK_QUEUE,
    eager: () => false,
  });
  const readiness = {
    postgres: () => db.ping(),
    schema: async () => undefined,
    temporal: () => temporal.ping(),
    ...options.readiness,
  };
  const metrics = createMetrics({ service: "api", processMetrics: false });
  const observer = createRunObserver(metrics, logger);
  const knowledge = openKnowledge(config, db);
  const sandbox = createSandbox({ size: 1 });
  const connections = createConnectionResolver({ db, secrets, guardedFetch });
  const models = openModels({ config, db, guardedFetch, connections });
  const api = createApp({
    config,
    db,
    reads: readsOf(db),
    blobs,
    plans: createPlanCache(db),
    feed,
    evaluation,
    guardedFetch,
    secrets,
    payloads,
    startInputs: createStartInputs(payloads.cipher, { seals: true }),
    knowledge,
    scorer: createScorer({
      evaluation,
      embedders: knowledge.deps.embedders,
      sandbox,
      guardedFetch,
      secrets,
      judge: createJudgeModel(models),
      version: VERSION,
    }),
    schedules: createSchedules(temporal.client, config.MILLRACE_TASK_QUEUE),
    providerJobs: createProviderJobs(temporal.client, config.MILLRACE_TASK_QUEUE, () => false),
    describeQueues: options.describeQueues ?? temporal.describeQueues,
    starter: runs,
    logger,
    metrics,
    observer,
    readiness,
  });
  const server = createApiServer(api.app.callback(), logger);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    databaseUrl,
    db,
    logs: () => lines.join(""),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await api.close();
      await Promise.all(
        [feed, temporal, guardedFetch, models, evaluation, knowledge, sandbox].map((each) => each.close()),
      );
      blobs.close();
      await db.close();
      await clone?.drop();
    },
  };
}
