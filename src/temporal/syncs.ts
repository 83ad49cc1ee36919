import type { Client } from "@temporalio/client";
import type { SyncInput } from "../domain/knowledge/sync.ts";
import type { syncKnowledgeBase } from "../../workflows/index.ts";
import { lookAt, startUnlessRunning } from "./calls.ts";
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
      startUnlessRunning<typeof syncKnowledgeBase>(client, "syncKnowledgeBase", {
        args: [input],
        taskQueue: background,
        workflowId: syncWorkflowId(input.sync_id),
        priority: priorityOf(input.org_id, "batch"),
      }),
    look: (syncId) => lookAt(client, syncWorkflowId(syncId)),
  };
}
