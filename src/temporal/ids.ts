/** Every workflow ID and task queue name of Millrace. A workflow ID ensures idempotency: one ID, one effect. */

export const runWorkflowId = (runId: string): string => `run-${runId}`;
export const sliceWorkflowId = (runId: string, path: string, from: number): string => `run-${runId}/${path}@${from}`;
export const ingestWorkflowId = (fileId: string): string => `ingest-${fileId}`;
export const resourceWorkflowId = (resourceId: string, revision: number): string => `ingest-${resourceId}-${revision}`;
/** All checks of a credential have the same ID, so only one runs at a time. */
export const checkWorkflowId = (connectionId: string, credentialRevision: number): string =>
  `check-${connectionId}-${credentialRevision}`;
export const experimentJobWorkflowId = (jobId: string): string => `eval-job-${jobId}`;
export const runJobWorkflowId = (jobId: string): string => `runs-job-${jobId}`;
/** Prefixes of schedule IDs, by type. */
export const MONITOR_SCHEDULES = "eval-monitor-";
export const SYNC_SCHEDULES = "sync-";
/** Contains the installation's prefix, because several installations may share a namespace. */
export const houseSchedules = (prefix: string): string => `house-${prefix}-`;
export const TRIGGER_SCHEDULES = "trigger-";
export const monitorScheduleId = (monitorId: string): string => MONITOR_SCHEDULES + monitorId;
export const importWorkflowId = (importId: string): string => `eval-import-${importId}`;
export const syncWorkflowId = (syncId: string): string => `sync-${syncId}`;
export const syncScheduleId = (knowledgeBaseId: string): string => SYNC_SCHEDULES + knowledgeBaseId;
export const scheduledSyncWorkflowId = (knowledgeBaseId: string): string => `scheduled-sync-${knowledgeBaseId}`;
export const triggerScheduleId = (id: string): string => TRIGGER_SCHEDULES + id;
export const toolsImportWorkflowId = (importId: string): string => `tools-import-${importId}`;
export const actionRunWorkflowId = (actionRunId: string): string => `action-${actionRunId}`;
export const erasureWorkflowId = (erasureId: string): string => `erasure-${erasureId}`;
/** Contains the installation's prefix, because several installations may share a namespace. */
export const shardWorkflowId = (prefix: string, shard: number): string => `deliver-${prefix}-${shard}`;

/** The task queues of an installation, each with one purpose, so that no type of work waits behind another. */
export interface TaskQueues {
  /** Workflows of runs and their local activities. Workers poll it, and the api for eager starts. */
  readonly runs: string;
  /** Regular activities of a run's nodes: outbound requests, code, pages. Workers poll it, like all that follow. */
  readonly nodes: string;
  /** Workflows and activities that read uploaded documents. */
  readonly ingest: string;
  /** Workflows and activities of long jobs that no one waits for: syncs, experiments, imports, run jobs. */
  readonly background: string;
  /** Deliveries of events, so that a hanging receiver delays nothing else. */
  readonly webhooks: string;
  /** Activities of erasures and purges, which may last for hours; their workflows are on `background`. */
  readonly house: string;
}

/**
 * The names of the task queues of the installation with this prefix (`MILLRACE_TASK_QUEUE`). A workflow gets the names of other queues than
 * its own in its input, because workflow code has no configuration.
 */
export function taskQueues(prefix: string): TaskQueues {
  return {
    runs: `${prefix}-runs`,
    nodes: `${prefix}-nodes`,
    ingest: `${prefix}-ingest`,
    background: `${prefix}-background`,
    webhooks: `${prefix}-webhooks`,
    house: `${prefix}-house`,
  };
}
