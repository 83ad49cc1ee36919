/** The workflows that a worker registers are exactly these exports. Renaming one breaks unfinished workflows. */
export { checkConnection } from "./providers/check-connection.ts";
export { deliverWebhooks } from "./webhooks/deliver-webhooks.ts";
export { eraseUser } from "./erasures/erase-user.ts";
export { importDataset } from "./evals/import-dataset.ts";
export { runExperiment, runExperimentLane } from "./evals/run-experiment.ts";
export { watchMonitor } from "./evals/watch-monitor.ts";
export { keepHouse } from "./house/keep-house.ts";
export { ingestDocument } from "./documents/ingest-document.ts";
export { ingestResource } from "./knowledge/ingest-resource.ts";
export { scheduledSync } from "./knowledge/scheduled-sync.ts";
export { syncKnowledgeBase } from "./knowledge/sync-knowledge-base.ts";
export { pollTrigger } from "./triggers/poll-trigger.ts";
export { runSchedule } from "./triggers/run-schedule.ts";
export { importTools } from "./providers/import-tools.ts";
export { runAction } from "./providers/run-action.ts";
export { runFlow } from "./runs/run-flow.ts";
export { runJob } from "./runs/run-job.ts";
export { runSlice } from "./runs/run-slice.ts";
