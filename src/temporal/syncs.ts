import type { Client } from "@temporalio/client";
import type { SyncInput } from "../domain/knowledge/sync.ts";
import type { syncKnowledgeBase } from "../../workflows/index.ts";
import { ignoringStarted, lookAt } from "./calls.ts";
import type { WorkflowView } from "./calls.ts";
import { scheduledSyncWorkflowId, syncScheduleId, syncWorkflowId, taskQueues } from "./ids.ts";
import { createSchedules } from "./schedules.ts";

/** Starts syncs of knowledge bases, now and by schedules. */
export interface SyncStarter {
  /** Starts the workflow of a sync unless it is under way. */
  startSync(input: SyncInput): Promise<void>;
  look(syncId: string): Promise<WorkflowView>;
  /** Makes the schedule of a knowledge base this one; null for none. */
  schedule(base: Omit<SyncInput, "sync_id">, cron: string | null): Promise<void>;
}

/** A sync that was missed while Temporal was down is made up for within this time. */
const CATCH_UP_SECONDS = 3600;

export function createSyncStarter(client: Client, taskQueuePrefix: string): SyncStarter {
  const { background } = taskQueues(taskQueuePrefix);
  const schedules = createSchedules(client);
  return {
    startSync: (input) =>
      ignoringStarted(
        client.workflow.start<typeof syncKnowledgeBase>("syncKnowledgeBase", {
          args: [input],
          taskQueue: background,
          workflowId: syncWorkflowId(input.sync_id),
          // One whose history is gone is followed by another, which goes on where it was.
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "FAIL",
        }),
      ),
    look: (syncId) => lookAt(client, syncWorkflowId(syncId)),
    async schedule(base, cron) {
      const id = syncScheduleId(base.knowledge_base_id);
      if (cron === null) return schedules.remove(id);
      const workflow_id = scheduledSyncWorkflowId(base.knowledge_base_id);
      await schedules.put({
        id,
        at: { cron, time_zone: "UTC" },
        overlap: "skip",
        catchup_window_seconds: CATCH_UP_SECONDS,
        jitter_seconds: 0,
        paused: false,
        workflow: { type: "scheduledSync", id: workflow_id, input: base, queue: background },
      });
    },
  };
}
