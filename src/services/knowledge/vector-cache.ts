import { LRUCache } from "lru-cache";
import { decodeHalves } from "../../domain/knowledge/halves.ts";
import { allocateVectors, numbersOf, strideOf } from "../../platform/vectors/nearest.ts";
import type { NearestSearch, VectorMemory } from "../../platform/vectors/nearest.ts";
import type { Database } from "../../stores/db.ts";
import { listLiveChunks } from "../../stores/knowledge/search-limits.ts";
import { readVectors } from "../../stores/knowledge/search-vectors.ts";
import type { Hit, SearchedIndex } from "../../stores/knowledge/search.ts";

/** Vectors read in one statement. */
const READ_BATCH = 2000;
const BYTES_OF_NUMBER = 4;

export interface VectorCacheOptions {
  readonly database: Database;
  readonly nearest: NearestSearch;
  /** Memory for all vectors (bytes). An index that alone needs more is read again for each search. */
  readonly maxBytes: number;
}

/** Exact search over the vectors of an index. */
export interface VectorCache {
  /** The chunks with the highest cosine similarity, best first; `among` restricts them. `vector` has length 1. */
  search(
    orgId: string,
    index: SearchedIndex,
    vector: Float32Array,
    options: { readonly among: readonly number[] | null; readonly limit: number },
  ): Promise<Hit[]>;
}

/** The vectors of one version of an index. Vectors are only appended, never changed in place, because searches may be running. */
interface CachedIndex {
  readonly version: number;
  readonly count: number;
  readonly chunkNos: readonly number[];
  readonly slotOf: ReadonlyMap<number, number>;
  /** The number of vectors that fit into `memory`. */
  readonly capacity: number;
  readonly memory: VectorMemory;
}

interface Entry {
  readonly version: number;
  readonly bytes: number;
  readonly loaded: Promise<CachedIndex>;
}

/**
 * Caches the vectors of the most recently searched indexes. When an index's version has changed, only new vectors are
 * read.
 */
export function createVectorCache({ database, nearest, maxBytes }: VectorCacheOptions): VectorCache {
  // The values are promises, so that concurrent searches read the vectors once.
  const entries = new LRUCache<number, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
  });

  const load = (orgId: string, index: SearchedIndex, bytes: number): Promise<CachedIndex> => {
    const known = entries.get(index.index_no);
    if (known !== undefined && known.version >= index.version) return known.loaded;
    const loaded = (async () => {
      // Reads everything if the last read failed.
      const before = await known?.loaded.catch(() => undefined);
      return await refresh(database, orgId, index, before);
    })();
    const entry = { version: index.version, bytes, loaded };
    entries.set(index.index_no, entry);
    loaded.catch(() => {
      if (entries.peek(index.index_no) === entry) entries.delete(index.index_no);
    });
    return loaded;
  };

  return {
    async search(orgId, index, vector, { among, limit }) {
      const dimensions = index.dimensions ?? 0;
      const bytes = index.chunk_count * strideOf(dimensions) * BYTES_OF_NUMBER;
      if (bytes > maxBytes) return await searchUncached(database, nearest, orgId, index, vector, among, limit);
      const { memory, count, chunkNos, slotOf } = await load(orgId, index, bytes);
      const slots = among === null ? null : slotsOf(among, slotOf);
      const found = await nearest.search({ memory, dimensions, count, query: vector, slots, limit });
      return found.slots.map((slot, i) => ({ chunk_no: chunkNos[slot] ?? 0, score: found.scores[i] ?? 0 }));
    },
  };
}

function slotsOf(chunkNos: readonly number[], slotOf: ReadonlyMap<number, number>): Int32Array {
  return Int32Array.from(chunkNos.map((chunkNo) => slotOf.get(chunkNo)).filter((slot) => slot !== undefined));
}

async function refresh(
  database: Database,
  orgId: string,
  index: SearchedIndex,
  before: CachedIndex | undefined,
): Promise<CachedIndex> {
  const dimensions = index.dimensions ?? 0;
  const live = await database.search(orgId, (db) => listLiveChunks(db, orgId, index));
  const isLive = new Set(live);
  const kept = before?.chunkNos.filter((chunkNo) => isLive.has(chunkNo)) ?? [];
  const missing = live.filter((chunkNo) => before?.slotOf.has(chunkNo) !== true).toSorted((a, b) => a - b);
  const stride = strideOf(dimensions);
  const needed = kept.length + missing.length;
  const appendable = before !== undefined && kept.length === before.count && before.capacity >= needed;
  // Spare capacity, so that a growing knowledge base is not copied at each search.
  const capacity = appendable ? before.capacity : Math.ceil(needed * 1.25);
  const memory = appendable ? before.memory : allocateVectors(capacity, dimensions);
  const data = numbersOf(memory);
  if (before !== undefined && !appendable) {
    const old = numbersOf(before.memory);
    kept.forEach((chunkNo, slot) => {
      const from = (before.slotOf.get(chunkNo) ?? 0) * stride;
      data.set(old.subarray(from, from + stride), slot * stride);
    });
  }
  const chunkNos = [...kept];
  for (let at = 0; at < missing.length; at += READ_BATCH) {
    const batch = missing.slice(at, at + READ_BATCH);
    const rows = await database.search(orgId, (db) => readVectors(db, orgId, index.index_no, batch));
    for (const { chunk_no, vector } of rows) {
      decodeHalves(vector, data, chunkNos.length * stride);
      chunkNos.push(chunk_no);
    }
  }
  const slotOf = new Map(chunkNos.map((chunkNo, slot) => [chunkNo, slot]));
  return { version: index.version, count: chunkNos.length, capacity, chunkNos, slotOf, memory };
}

/** Reads and compares the vectors batch by batch without caching them. */
async function searchUncached(
  database: Database,
  nearest: NearestSearch,
  orgId: string,
  index: SearchedIndex,
  vector: Float32Array,
  among: readonly number[] | null,
  limit: number,
): Promise<Hit[]> {
  const dimensions = index.dimensions ?? 0;
  const chunkNos = among ?? (await database.search(orgId, (db) => listLiveChunks(db, orgId, index)));
  let best: Hit[] = [];
  for (let at = 0; at < chunkNos.length; at += READ_BATCH) {
    const batch = chunkNos.slice(at, at + READ_BATCH);
    const rows = await database.search(orgId, (db) => readVectors(db, orgId, index.index_no, batch));
    const memory = allocateVectors(rows.length, dimensions);
    const data = numbersOf(memory);
    rows.forEach((row, slot) => decodeHalves(row.vector, data, slot * strideOf(dimensions)));
    const found = await nearest.search({ memory, dimensions, count: rows.length, query: vector, slots: null, limit });
    const hits = found.slots.map((slot, i) => ({ chunk_no: rows[slot]?.chunk_no ?? 0, score: found.scores[i] ?? 0 }));
    best = [...best, ...hits].toSorted((a, b) => b.score - a.score || a.chunk_no - b.chunk_no).slice(0, limit);
  }
  return best;
}
