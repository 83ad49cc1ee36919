import type { Client } from "@temporalio/client";
import { startUnlessRunning } from "./calls.ts";
import { shardWorkflowId, taskQueues } from "./ids.ts";

/** Starts the workflow of a shard of deliveries unless it is running. */
export type StartShard = (shard: number) => Promise<void>;

export function createShardStarter(client: Client, taskQueuePrefix: string): StartShard {
  const { runs, webhooks } = taskQueues(taskQueuePrefix);
  return (shard) =>
    startUnlessRunning(client, "deliverWebhooks", {
      args: [{ shard, activity_queue: webhooks }],
      taskQueue: runs,
      workflowId: shardWorkflowId(taskQueuePrefix, shard),
      // It belongs to no organisation, because deliveries of all organisations wait for it.
      priority: { priorityKey: 1, fairnessKey: "deliveries" },
    });
}
