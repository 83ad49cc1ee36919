import { createRunWorkerParts } from "../activities/create.ts";
import { withinNodeQuota } from "../activities/node-quota.ts";
import { shareOut } from "../activities/shares.ts";
import { createWebhookActivities } from "../activities/webhooks/index.ts";
import { createShares } from "./domain/shares.ts";
import { createSandbox } from "./platform/sandbox/sandbox.ts";
import { openEvals, openScorer } from "./processes/evals.ts";
import { openHealth } from "./processes/health.ts";
import { openHouse } from "./processes/house.ts";
import { openDocuments, openIndexing, openKnowledgeModels } from "./processes/knowledge.ts";
import { openModels } from "./processes/models.ts";
import { openNodes } from "./processes/nodes.ts";
import { openProcess } from "./processes/open-process.ts";
import { openProviders, openTriggers } from "./processes/providers.ts";
import { openRunJobs, openRuns } from "./processes/runs.ts";
import { startUpkeep } from "./processes/upkeep.ts";
import { openWebhooks } from "./processes/webhooks.ts";
import { startWorkers } from "./processes/workers.ts";
import { createNodePlaces } from "./services/runs/node-places.ts";
import { sweepBeforePolling } from "./services/runs/sweeper.ts";
import type { TaskQueues } from "./temporal/ids.ts";
import { createWorker, JOB_ACTIVITIES } from "./temporal/workers.ts";
import type { WorkerParts } from "./temporal/workers.ts";

const worker = await openProcess("worker");
const { config, logger, shutdown, temporal } = worker;

// A code node ends at its own, shorter time-out; this limit is only a safety net.
const sandbox = createSandbox({ timeoutMs: 900_000 });
shutdown.add("code sandbox", () => sandbox.close());
const documents = openDocuments(worker);
const knowledge = openKnowledgeModels(worker);
const models = openModels(worker);
const runs = openRuns(worker);
const providers = openProviders(worker, runs, knowledge, models.connections);
const shares = createShares(config.MILLRACE_WORKER_ACTIVITIES);
// Between two nodes of a chain, an organisation that has used its whole share gives a slot back.
const mayContinue = (orgId: string) => config.MILLRACE_CHAINS && !shutdown.stopping.aborted && shares.free(orgId) > 0;
const nodes = openNodes(worker, runs, { sandbox, documents, knowledge, models, providers, mayContinue });
const evals = openEvals(worker, runs, openScorer(worker, { sandbox, knowledge, models }));
const indexing = openIndexing(worker, runs, documents, knowledge, models.connections);
const triggers = openTriggers(worker, runs);
const webhooks = openWebhooks(worker, () => triggers.wake());

const places = createNodePlaces(worker.db, config.MILLRACE_QUOTA_CONCURRENT_NODES);
shutdown.add("node slots", async () => places.close());
const executeNode = withinNodeQuota(nodes.executeNode, places);
const nodeWork = { ...nodes, executeNode, ...providers.providerActivities };
const background = {
  ...evals,
  ...indexing.syncActivities,
  ...providers.triggerActivities,
  ...openRunJobs(worker, runs),
};
const parts: { readonly [Queue in keyof TaskQueues]: () => WorkerParts } = {
  runs: () => createRunWorkerParts(runs.activities),
  nodes: () => ({ activities: shareOut(nodeWork, config.MILLRACE_WORKER_ACTIVITIES, shares) }),
  ingest: () => ({ activities: shareOut(indexing.ingestActivities, JOB_ACTIVITIES) }),
  background: () => ({ activities: shareOut(background, JOB_ACTIVITIES) }),
  webhooks: () => ({ activities: createWebhookActivities(webhooks.deliverer, config.MILLRACE_WEBHOOK_SHARDS) }),
  house: () => ({ activities: openHouse(worker, runs) }),
};
const queues = config.MILLRACE_WORKER_QUEUES;
if (queues.includes("runs")) await sweepBeforePolling(runs.sweeping);
const workers = await startWorkers(worker, () =>
  Promise.all(queues.map((queue) => createWorker(queue, config, temporal, parts[queue]()))),
);
// Stopped before the workers, so that shard activities end and other processes take the shards.
shutdown.add("delivery shards", () => webhooks.deliverer.leave());
if (queues.includes("background")) startUpkeep(worker, runs);
await openHealth(worker, "MILLRACE_WORKER_PORT", {
  ...worker.readiness,
  async workers() {
    if (!workers.running()) throw new Error("the workers are not polling");
  },
});
logger.info({ prefix: config.MILLRACE_TASK_QUEUE, queues }, "worker ready");
