/** What the workflow of a shard of deliveries is started with. */
export interface ShardInput {
  /** From 0. */
  readonly shard: number;
  /** Where the activities of deliveries are served. */
  readonly activity_queue: string;
}

/** How a worker's time with a shard ended: `retired` when the configuration has no such shard any more. */
export interface ShardOutcome {
  readonly retired: boolean;
}

/** Which of `count` shards sees to the deliveries of a subscription: by the last byte of its id. */
export function shardOf(subscriptionId: string, count: number): number {
  return Number.parseInt(subscriptionId.slice(-2), 16) % count;
}
