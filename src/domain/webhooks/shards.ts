/** The input of the workflow of a shard of deliveries. */
export interface ShardInput {
  /** From 0. */
  readonly shard: number;
  /** Where the activities of deliveries are served. */
  readonly activity_queue: string;
}

/** How a worker's time with a shard ended: `retired` if the configuration no longer has such a shard. */
export interface ShardOutcome {
  readonly retired: boolean;
}

/** Which of `count` shards handles the deliveries of a subscription: by the last byte of its id. */
export function shardOf(subscriptionId: string, count: number): number {
  return Number.parseInt(subscriptionId.slice(-2), 16) % count;
}
