import { continueAsNew, setWorkflowOptions, workflowInfo } from "@temporalio/workflow";
import type { ShardInput } from "../../src/domain/webhooks/shards.ts";
import { webhooks } from "../activities.ts";

/** Activities after which the workflow continues as new. */
const MAX_ACTIVITIES = 200;

/**
 * Keeps a worker on the deliveries of a shard: one long activity after the other. When its worker dies, heartbeats
 * stop, and Temporal gives the activity to another one. The deliveries' rows say what is due, and when.
 */
export async function deliverWebhooks(input: ShardInput): Promise<void> {
  const { deliverShard } = webhooks(input.activity_queue);
  for (let made = 0; made < MAX_ACTIVITIES; made += 1) {
    const { retired } = await deliverShard({ shard: input.shard });
    if (retired) return;
  }
  await continueAsNew<typeof deliverWebhooks>(input);
}

// It never ends, so it moves to the current build; one that stayed would keep its build's workers for ever. Temporal
// refuses a behaviour from a worker without a deployment.
setWorkflowOptions(
  () => (workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: "AUTO_UPGRADE" } : {}),
  deliverWebhooks,
);
