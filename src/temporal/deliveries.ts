import type { Client } from "@temporalio/client";
import type { deliverWebhooks } from "../../workflows/index.ts";
import { ignoringStarted } from "./calls.ts";
import { shardWorkflowId, taskQueues } from "./ids.ts";

/** Starts the workflow of a shard of deliveries unless it is running. */
export type StartShard = (shard: number) => Promise<void>;

export function createShardStarter(client: Client, taskQueuePrefix: string): StartShard {
  const { runs, webhooks } = taskQueues(taskQueuePrefix);
  return (shard) =>
    ignoringStarted(
      client.workflow.start<typeof deliverWebhooks>("deliverWebhooks", {
        args: [{ shard, activity_queue: webhooks }],
        taskQueue: runs,
        workflowId: shardWorkflowId(taskQueuePrefix, shard),
        // It belongs to no organisation: deliveries of all organisations wait for it.
        priority: { priorityKey: 1, fairnessKey: "deliveries" },
        // Replaces a closed one (terminated by somebody, or of a shard that was retired).
        workflowIdReusePolicy: "ALLOW_DUPLICATE",
        workflowIdConflictPolicy: "FAIL",
      }),
    );
}
