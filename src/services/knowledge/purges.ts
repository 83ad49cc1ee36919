import type { Purge } from "../house/purge.ts";
import { buildHnswIndexes } from "./build-hnsw.ts";
import { purgeKnowledge } from "./remove.ts";
import { renewOutdatedWords } from "./renew-words.ts";

/** Each does everything in one call. */
const once = { every: "minute", batch: Number.POSITIVE_INFINITY } as const;

export const knowledgePurges: readonly Purge[] = [
  { ...once, name: "outdated words", purge: ({ db, isClosed }) => renewOutdatedWords(db, isClosed) },
  { ...once, name: "deleted knowledge", purge: ({ db, blobs }) => purgeKnowledge({ database: db, blobs }) },
  { ...once, name: "indexes of vectors", purge: ({ db }) => buildHnswIndexes(db) },
];
