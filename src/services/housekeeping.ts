import type { BlobStore } from "../platform/blobs/blobs.ts";
import type { Database } from "../stores/db.ts";
import { purgeIdempotencyKeys } from "../stores/http/idempotency.ts";
import { purgeExpiredTokens } from "../stores/accounts/oauth-tokens.ts";
import { purgeEvents } from "../stores/webhooks/outbox.ts";
import { purgeRateLimits } from "../stores/http/rate-limits.ts";
import { purgeDeliveries } from "../stores/webhooks/deliveries.ts";
import { periodically } from "../platform/periodically.ts";
import type { Periodic } from "../platform/periodically.ts";

const EVERY_MS = 60_000;
const BATCH = 1000;

export interface HousekeepingOptions {
  /** How long deliveries are kept, and at least that long their events (ms). */
  readonly eventRetentionMs: number;
  readonly onError: (error: unknown) => void;
}

/** Removes what has had its time: answers kept for Idempotency-Keys, expired tokens, rate limits' counts, old events. Any number of processes may do it. */
export function startHousekeeping(
  db: Database,
  blobs: BlobStore,
  { eventRetentionMs, onError }: HousekeepingOptions,
): Periodic {
  return periodically(
    EVERY_MS,
    async () => {
      await inBatches(async () => {
        const { removed, blobs: answers } = await db.system((connection) => purgeIdempotencyKeys(connection, BATCH));
        await Promise.all(answers.map((key) => blobs.delete(key)));
        return removed;
      });
      await inBatches(() => db.system((connection) => purgeExpiredTokens(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeRateLimits(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeDeliveries(connection, eventRetentionMs, BATCH)));
      await inBatches(() => db.system((connection) => purgeEvents(connection, eventRetentionMs, BATCH)));
    },
    onError,
  );
}

/** Small statements, but as many as there is work: a busy service makes more in a minute than one batch. */
async function inBatches(purge: () => Promise<number>): Promise<void> {
  while ((await purge()) === BATCH);
}
