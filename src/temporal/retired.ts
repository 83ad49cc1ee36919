import type { Client } from "@temporalio/client";
import { ignoreMissing } from "./calls.ts";
import { taskQueues } from "./ids.ts";

/** Workflow types of 0.1.0, which started a workflow for each delivery that had failed once. Now deliveries are rows with a schedule. */
const RETIRED_TYPE = "deliverWebhook";

/**
 * Terminates the workflows of an earlier release that no worker knows any more, because their tasks would fail forever. Their work is in
 * rows and continues from there. Returns how many there were.
 */
export async function endRetiredWorkflows(client: Client, taskQueuePrefix: string): Promise<number> {
  const { runs } = taskQueues(taskQueuePrefix);
  const query = `WorkflowType = '${RETIRED_TYPE}' and TaskQueue = '${runs}' and ExecutionStatus = 'Running'`;
  let ended = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const reason = "of an earlier release; its delivery continues without it";
    // The workflow may have ended already, or another worker was faster.
    if (await handle.terminate(reason).catch(ignoreMissing)) ended += 1;
  }
  return ended;
}
