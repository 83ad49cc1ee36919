import type { Database } from "../../stores/db.ts";
import {
  createHnsw,
  hasPgvector,
  insertVectors,
  listLargeIndexes,
  listMissingVectors,
  markHnsw,
  withBuildLock,
  type HnswCandidate,
} from "../../stores/knowledge/hnsw.ts";
import { toNumbers } from "./index-resource.ts";

/** Number of chunks from which an index is searched by HNSW. Below it, an exact comparison is as fast. */
const HNSW_MIN_CHUNKS = 20_000;
const COPIED_AT_ONCE = 1000;
const LISTED = 10;

/**
 * Builds an HNSW index for each large index without one, if the database has pgvector. For housekeeping: one process
 * at a time builds, and searches are exact until it has finished. Returns how many were built.
 */
export async function buildHnswIndexes(database: Database, minChunks: number = HNSW_MIN_CHUNKS): Promise<number> {
  if (!(await database.system(hasPgvector))) return 0;
  let built = 0;
  await database.system((lock) =>
    withBuildLock(lock, async () => {
      for (const candidate of await database.system((db) => listLargeIndexes(db, minChunks, LISTED))) {
        await copyVectors(database, candidate);
        await database.system((db) => createHnsw(db, candidate));
        await database.system((db) => markHnsw(db, candidate.index_no, true));
        // Copies vectors written since the first copy; from now on each writer also writes to the HNSW index.
        await copyVectors(database, candidate);
        built += 1;
      }
    }),
  );
  return built;
}

async function copyVectors(database: Database, { org_id, index_no }: HnswCandidate): Promise<void> {
  for (let after = 0; ;) {
    const rows = await database.system((db) => listMissingVectors(db, index_no, after, COPIED_AT_ONCE));
    const last = rows.at(-1);
    if (last === undefined) return;
    const vectors = rows.map((row) => ({ chunk_no: row.chunk_no, vector: toNumbers(row.vector) }));
    await database.system((db) => insertVectors(db, { org_id, index_no }, vectors));
    after = last.chunk_no;
  }
}
