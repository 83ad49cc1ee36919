import { ScheduleAlreadyRunning, ScheduleNotFoundError } from "@temporalio/client";
import type { Client, ScheduleOptions, ScheduleOptionsStartWorkflowAction } from "@temporalio/client";
import type { SyncInput } from "../domain/knowledge/sync.ts";
import type { scheduledSync, syncKnowledgeBase } from "../../workflows/index.ts";
import { ignoringStarted, inTime, lookAt } from "./calls.ts";
import type { WorkflowView } from "./calls.ts";
import { scheduledSyncWorkflowId, syncScheduleId, syncWorkflowId, taskQueues } from "./ids.ts";

/** Starts syncs of knowledge bases, now and by schedules. */
export interface SyncStarter {
  /** Starts the workflow of a sync unless it is under way. */
  startSync(input: SyncInput): Promise<void>;
  look(syncId: string): Promise<WorkflowView>;
  /** Makes the schedule of a knowledge base this one; null for none. */
  schedule(base: Omit<SyncInput, "sync_id">, cron: string | null): Promise<void>;
}

/** A sync that was missed while Temporal was down is made up for within this time. */
const CATCH_UP = "1 hour";

export function createSyncStarter(client: Client, taskQueuePrefix: string): SyncStarter {
  const { background } = taskQueues(taskQueuePrefix);

  async function put(base: Omit<SyncInput, "sync_id">, cron: string): Promise<void> {
    const scheduleId = syncScheduleId(base.knowledge_base_id);
    const action = {
      type: "startWorkflow" as const,
      workflowType: "scheduledSync",
      workflowId: scheduledSyncWorkflowId(base.knowledge_base_id),
      taskQueue: background,
      args: [base] as [typeof base],
    };
    const options: ScheduleOptions<ScheduleOptionsStartWorkflowAction<typeof scheduledSync>> = {
      scheduleId,
      spec: { cronExpressions: [cron] },
      action,
      policies: { overlap: "SKIP", catchupWindow: CATCH_UP },
    };
    try {
      await inTime(client.schedule.create(options));
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await inTime(
        client.schedule.getHandle(scheduleId).update((present) => ({ ...present, spec: options.spec, action })),
      );
    }
  }

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
      if (cron !== null) return await put(base, cron);
      try {
        await inTime(client.schedule.getHandle(syncScheduleId(base.knowledge_base_id)).delete());
      } catch (error) {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      }
    },
  };
}
