import { deleteBlobs } from "../../platform/blobs/delete-blobs.ts";
import { purgeIdempotencyKeys } from "../../stores/http/idempotency.ts";
import { purgeRateLimits } from "../../stores/http/rate-limits.ts";
import { isNewDatabase } from "../../stores/system/blob-sweep.ts";
import { purgeOf, type Purge } from "../house/purge.ts";
import { MIN_BLOB_AGE_MS, sweepBlobs } from "./sweep-blobs.ts";

export const systemPurges: readonly Purge[] = [
  {
    name: "stored responses",
    every: "five-minutes",
    batch: 1000,
    async purge({ db, blobs }, batch) {
      const purged = await db.system((connection) => purgeIdempotencyKeys(connection, batch));
      await deleteBlobs(blobs, purged.blobs);
      return purged.removed;
    },
  },
  purgeOf("rate limits", purgeRateLimits),
  {
    name: "unreferenced blobs",
    every: "day",
    batch: Number.POSITIVE_INFINITY,
    async purge(deps) {
      if (await deps.db.system(isNewDatabase)) return 0;
      return sweepBlobs(deps, new Date(Date.now() - MIN_BLOB_AGE_MS));
    },
  },
];
