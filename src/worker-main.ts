import { createRunWorkerParts } from "../activities/create.ts";
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
import { createWorkerOf, startWorkers, type QueueActivities } from "./processes/workers.ts";
import { sweepBeforePolling } from "./services/runs/sweeper.ts";

const worker = await openProcess("worker");
const { config, logger, shutdown } = worker;

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
const triggers = openTriggers(worker, runs);
const webhooks = openWebhooks(worker, () => triggers.wake());

const capabilities: readonly QueueActivities[] = [
  openNodes(worker, runs, { sandbox, documents, knowledge, models, providers, mayContinue }),
  providers.activities,
  openEvals(worker, runs, openScorer(worker, { sandbox, knowledge, models })),
  openIndexing(worker, runs, documents, knowledge, models.connections),
  openRunJobs(worker, runs),
  webhooks.activities,
  openHouse(worker, runs),
];
const runParts = createRunWorkerParts(runs.activities);
const queues = config.MILLRACE_WORKER_QUEUES;
if (queues.includes("runs")) await sweepBeforePolling(runs.sweeping);
const workers = await startWorkers(worker, () =>
  Promise.all(queues.map((queue) => createWorkerOf(queue, worker, capabilities, runParts, shares))),
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
