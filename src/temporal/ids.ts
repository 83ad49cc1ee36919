/** Every workflow id and task queue name of the service. A workflow id carries idempotency: one id, one effect. */

export const runWorkflowId = (runId: string): string => `run-${runId}`;
export const sliceWorkflowId = (runId: string, path: string, from: number): string => `run-${runId}/${path}@${from}`;
export const ingestWorkflowId = (fileId: string): string => `ingest-${fileId}`;

/** Run workflows and their local activities: served by workers and, for eager start, by the api. */
export const runQueue = (prefix: string): string => `${prefix}-runs`;
/** Regular activities: served by workers only. */
export const activityQueue = (prefix: string): string => `${prefix}-activities`;
