import type { BlobStore } from "../platform/blobs.ts";
import type { Database } from "../stores/db.ts";
import { purgeIdempotencyKeys } from "../stores/idempotency.ts";
import { purgeExpiredTokens } from "../stores/oauth-tokens.ts";
import { purgeRateLimits } from "../stores/rate-limits.ts";
import { periodically } from "./periodically.ts";
import type { Periodic } from "./periodically.ts";

const EVERY_MS = 60_000;
const BATCH = 1000;

/** Removes what has had its time: answers kept for Idempotency-Keys, expired tokens, rate limits' counts. Any number of processes may do it. */
export function startHousekeeping(db: Database, blobs: BlobStore, onError: (error: unknown) => void): Periodic {
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
    },
    onError,
  );
}

/** Small statements, but as many as there is work: a busy service makes more in a minute than one batch. */
async function inBatches(purge: () => Promise<number>): Promise<void> {
  while ((await purge()) === BATCH);
}
