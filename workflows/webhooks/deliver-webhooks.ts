import { continueAsNew, setWorkflowOptions, workflowInfo } from "@temporalio/workflow";
import type { ShardInput } from "../../src/domain/webhooks/shards.ts";
import { webhooks } from "../activities.ts";

/** Number of activities after which the workflow continues as new. */
const MAX_ACTIVITIES = 200;

/**
 * Keeps a worker on the deliveries of a shard, in one long activity after another. If the worker dies, its heartbeats stop, and Temporal
 * gives the activity to another worker. The deliveries' rows say what is due when.
 */
export async function deliverWebhooks(input: ShardInput): Promise<void> {
  const { deliverShard } = webhooks(input.activity_queue);
  for (let made = 0; made < MAX_ACTIVITIES; made += 1) {
    const { retired } = await deliverShard({ shard: input.shard });
    if (retired) return;
  }
  await continueAsNew<typeof deliverWebhooks>(input);
}

// This workflow never ends, so it must move to new builds; otherwise it would keep the workers of its first build forever. The option is
// set only in a deployment, because Temporal rejects it from a worker without one.
setWorkflowOptions(
  () => (workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: "AUTO_UPGRADE" } : {}),
  deliverWebhooks,
);
