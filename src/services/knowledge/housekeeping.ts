import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { buildHnswIndexes } from "./build-hnsw.ts";
import { purgeKnowledge } from "./remove.ts";

const EVERY_MS = 30_000;

/**
 * Removes the remains of deleted knowledge bases, and builds HNSW indexes for large ones. Any number of processes may
 * run it.
 */
export function startKnowledgeHousekeeping(
  database: Database,
  blobs: BlobStore,
  onError: (error: unknown) => void,
): Periodic {
  return periodically(
    EVERY_MS,
    async () => {
      await purgeKnowledge({ database, blobs });
      await buildHnswIndexes(database);
    },
    onError,
  );
}
