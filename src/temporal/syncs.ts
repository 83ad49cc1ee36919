import type { Client } from "@temporalio/client";
import type { SyncInput } from "../domain/knowledge/sync.ts";
import type { syncKnowledgeBase } from "../../workflows/index.ts";
import { ignoringStarted, lookAt } from "./calls.ts";
import type { WorkflowView } from "./calls.ts";
import { syncWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";

/** Starts syncs of knowledge bases. */
export interface SyncStarter {
  /** Starts the workflow of a sync unless it is running. */
  startSync(input: SyncInput): Promise<void>;
  look(syncId: string): Promise<WorkflowView>;
}

export function createSyncStarter(client: Client, taskQueuePrefix: string): SyncStarter {
  const { background } = taskQueues(taskQueuePrefix);
  return {
    startSync: (input) =>
      ignoringStarted(
        client.workflow.start<typeof syncKnowledgeBase>("syncKnowledgeBase", {
          args: [input],
          taskQueue: background,
          workflowId: syncWorkflowId(input.sync_id),
          priority: priorityOf(input.org_id, "batch"),
          // Replaces one whose history is gone; it continues from the rows.
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "FAIL",
        }),
      ),
    look: (syncId) => lookAt(client, syncWorkflowId(syncId)),
  };
}
