import type { ShardInput, ShardOutcome } from "../../src/domain/webhooks/shards.ts";

/** Deliveries of events, on workers, separate from all other work. */
export interface WebhookActivities {
  deliverShard(input: Pick<ShardInput, "shard">): Promise<ShardOutcome>;
}
