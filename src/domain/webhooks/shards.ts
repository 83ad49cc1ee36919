/** The input of the workflow for one shard of deliveries. */
export interface ShardInput {
  /** From 0. */
  readonly shard: number;
  /** The task queue of the delivery activities. */
  readonly activity_queue: string;
}

/** How a worker's turn with a shard ended; `retired` if the configuration no longer has such a shard. */
export interface ShardOutcome {
  readonly retired: boolean;
}

/** Which of `count` shards handles a webhook's deliveries, by the last byte of the webhook's ID. */
export function shardOf(subscriptionId: string, count: number): number {
  return Number.parseInt(subscriptionId.slice(-2), 16) % count;
}
