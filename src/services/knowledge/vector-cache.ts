import { LRUCache } from "lru-cache";
import { decodeHalves } from "../../domain/knowledge/halves.ts";
import {
  allocateVectors,
  numbersOf,
  strideOf,
  type NearestSearch,
  type VectorMemory,
} from "../../platform/vectors/nearest.ts";
import type { Database } from "../../stores/db.ts";
import { listLiveChunks } from "../../stores/knowledge/search-limits.ts";
import { readVectors } from "../../stores/knowledge/search-vectors.ts";
import type { Hit, SearchedIndex } from "../../stores/knowledge/search.ts";

/** Vectors read in one statement. */
const READ_BATCH = 2000;
const BYTES_OF_NUMBER = 4;

interface VectorCacheOptions {
  readonly database: Database;
  readonly nearest: NearestSearch;
  /** Memory for all vectors (bytes). An index that alone needs more is read again for each search. */
  readonly maxBytes: number;
}

export type VectorCache = ReturnType<typeof createVectorCache>;

/** The vectors of one version of an index. Vectors are only appended, never changed in place, because searches may be running. */
interface CachedIndex {
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
 * Exact search over the vectors of an index. Caches those of the most recently searched indexes. When an index's version
 * has changed, only new vectors are read.
 */
export function createVectorCache({ database, nearest, maxBytes }: VectorCacheOptions) {
  // The values are promises, so that concurrent searches read the vectors once.
  const entries = new LRUCache<number, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
  });

  const readLive = (orgId: string, index: SearchedIndex): Promise<number[]> =>
    database.search(orgId, (db) => listLiveChunks(db, orgId, index));

  /** The vectors of chunks, in portions. */
  async function* read(orgId: string, { index_no }: SearchedIndex, chunkNos: readonly number[]) {
    for (let at = 0; at < chunkNos.length; at += READ_BATCH) {
      const batch = chunkNos.slice(at, at + READ_BATCH);
      yield await database.search(orgId, (db) => readVectors(db, orgId, index_no, batch));
    }
  }

  const load = (orgId: string, index: SearchedIndex, bytes: number): Promise<CachedIndex> => {
    const known = entries.get(index.index_no);
    if (known !== undefined && known.version >= index.version) return known.loaded;
    const loaded = (async () => {
      // Reads everything if the last read failed.
      const before = await known?.loaded.catch(() => undefined);
      return await refresh(orgId, index, before);
    })();
    const entry = { version: index.version, bytes, loaded };
    entries.set(index.index_no, entry);
    loaded.catch(() => {
      if (entries.peek(index.index_no) === entry) entries.delete(index.index_no);
    });
    return loaded;
  };

  async function refresh(orgId: string, index: SearchedIndex, before: CachedIndex | undefined): Promise<CachedIndex> {
    const dimensions = index.dimensions ?? 0;
    const live = await readLive(orgId, index);
    const isLive = new Set(live);
    const kept = before?.chunkNos.filter((chunkNo) => isLive.has(chunkNo)) ?? [];
    const missing = live.filter((chunkNo) => before?.slotOf.has(chunkNo) !== true).toSorted((a, b) => a - b);
    const stride = strideOf(dimensions);
    const needed = kept.length + missing.length;
    const appendable = before !== undefined && kept.length === before.chunkNos.length && before.capacity >= needed;
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
    for await (const rows of read(orgId, index, missing))
      for (const { chunk_no, vector } of rows) {
        decodeHalves(vector, data, chunkNos.length * stride);
        chunkNos.push(chunk_no);
      }
    const slotOf = new Map(chunkNos.map((chunkNo, slot) => [chunkNo, slot]));
    return { capacity, chunkNos, slotOf, memory };
  }

  return {
    /** The chunks with the highest cosine similarity, best first; `among` restricts them. `vector` has length 1. */
    async search(
      orgId: string,
      index: SearchedIndex,
      vector: Float32Array,
      { among, limit }: { readonly among: readonly number[] | null; readonly limit: number },
    ): Promise<Hit[]> {
      const dimensions = index.dimensions ?? 0;
      const compare = async (memory: VectorMemory, chunkNos: readonly number[], slots: Int32Array | null) => {
        const asked = { memory, dimensions, count: chunkNos.length, query: vector, slots, limit };
        const { slots: best, scores } = await nearest.search(asked);
        return best.map((slot, i) => ({ chunk_no: chunkNos[slot] ?? 0, score: scores[i] ?? 0 }));
      };
      const bytes = index.chunk_count * strideOf(dimensions) * BYTES_OF_NUMBER;
      if (bytes <= maxBytes) {
        const { memory, chunkNos, slotOf } = await load(orgId, index, bytes);
        const slots = among?.map((chunkNo) => slotOf.get(chunkNo)).filter((slot) => slot !== undefined);
        return await compare(memory, chunkNos, slots ? Int32Array.from(slots) : null);
      }
      let best: Hit[] = [];
      for await (const rows of read(orgId, index, among ?? (await readLive(orgId, index)))) {
        const memory = allocateVectors(rows.length, dimensions);
        const data = numbersOf(memory);
        rows.forEach((row, slot) => decodeHalves(row.vector, data, slot * strideOf(dimensions)));
        const numbers = rows.map(({ chunk_no }) => chunk_no);
        const hits = await compare(memory, numbers, null);
        best = [...best, ...hits].toSorted((a, b) => b.score - a.score || a.chunk_no - b.chunk_no).slice(0, limit);
      }
      return best;
    },
  };
}
