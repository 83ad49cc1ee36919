import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { buildHnswIndexes } from "./build-hnsw.ts";
import { purgeKnowledge } from "./remove.ts";
import { renewOutdatedWords } from "./renew-words.ts";

const EVERY_MS = 30_000;

/**
 * Reindexes words that were indexed by earlier rules, purges deleted knowledge bases, and builds HNSW indexes for large
 * ones. Any number of processes may run it.
 */
export function startKnowledgeHousekeeping(
  database: Database,
  blobs: BlobStore,
  onError: (error: unknown) => void,
): Periodic {
  const parts: ReadonlyArray<(isClosed: () => boolean) => Promise<unknown>> = [
    (isClosed) => renewOutdatedWords(database, isClosed),
    () => purgeKnowledge({ database, blobs }),
    () => buildHnswIndexes(database),
  ];
  return periodically(
    EVERY_MS,
    (isClosed) => eachRoundRobin(parts, (part) => part(isClosed), { isClosed, onError }),
    onError,
  );
}
