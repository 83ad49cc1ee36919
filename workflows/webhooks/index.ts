import { continueAsNew } from "@temporalio/workflow";
import type { ShardInput } from "../../src/domain/webhooks/shards.ts";
import { webhooks } from "../activities.ts";
import { movesToNewBuilds } from "../moves-to-new-builds.ts";

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

movesToNewBuilds(deliverWebhooks);
