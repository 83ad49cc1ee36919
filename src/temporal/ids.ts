/** Every workflow id and task queue name of the service. A workflow id carries idempotency: one id, one effect. */

export const runWorkflowId = (runId: string): string => `run-${runId}`;
export const sliceWorkflowId = (runId: string, path: string, from: number): string => `run-${runId}/${path}@${from}`;
export const ingestWorkflowId = (fileId: string): string => `ingest-${fileId}`;
export const deliveryWorkflowId = (deliveryId: string, round: number): string => `deliver-${deliveryId}-${round}`;

/** Run workflows and their local activities: served by workers and, for eager start, by the api. */
export const runQueue = (prefix: string): string => `${prefix}-runs`;
/** Regular activities: served by workers only. */
export const activityQueue = (prefix: string): string => `${prefix}-activities`;
/** Further attempts to deliver events: served by workers only, apart from all else, so that a receiver that hangs holds up nothing. */
export const webhookQueue = (prefix: string): string => `${prefix}-webhooks`;
