import type { Client } from "@temporalio/client";
import type { DeliveryInput } from "../domain/webhooks/webhook.ts";
import type { deliverWebhook } from "../../workflows/index.ts";
import { ignoringStarted } from "./calls.ts";
import { deliveryWorkflowId, taskQueues } from "./ids.ts";

export interface DeliveryStarter {
  /** Starts the workflow that makes the further attempts of a delivery, the next in `delayMs`, unless it is under way. */
  start(input: DeliveryInput, delayMs: number): Promise<void>;
}

export function createDeliveryStarter(client: Client, taskQueuePrefix: string): DeliveryStarter {
  const { runs, webhooks } = taskQueues(taskQueuePrefix);
  return {
    start: (input, delayMs) =>
      ignoringStarted(
        client.workflow.start<typeof deliverWebhook>("deliverWebhook", {
          args: [{ ...input, delay_ms: delayMs, activity_queue: webhooks }],
          taskQueue: runs,
          workflowId: deliveryWorkflowId(input.delivery_id, input.round),
          // One that was terminated while its delivery waits for more is followed by another.
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "FAIL",
        }),
      ),
  };
}
