import { LRUCache } from "lru-cache";
import { createBest } from "../../platform/vectors/best.ts";
import type { Database } from "../../stores/db.ts";
import { frequencyWeight, lengthSlope, readPostings, termScore } from "../../stores/knowledge/search-keywords.ts";
import { listLiveChunks } from "../../stores/knowledge/search-limits.ts";
import type { KeywordHit, SearchedIndex } from "../../stores/knowledge/search.ts";

/** A word of a query that has exactly one lexeme. */
export interface PlainTerm {
  readonly lexeme: string;
  readonly weight: number;
}

export type PostingCache = ReturnType<typeof createPostingCache>;

/** The slots of the chunks that contain a term, and the score that each gets for a weight of one. */
interface Posting {
  readonly slots: Int32Array;
  readonly scores: Float64Array;
  /** The most that a chunk could score; 0 if the term occurs nowhere. */
  readonly most: number;
}

/** The cached part of one version of an index. */
interface CachedIndex {
  /** Chunk number by slot, ascending. */
  readonly chunkNos: Int32Array;
  readonly slotOf: ReadonlyMap<number, number>;
  readonly terms: Map<string, Promise<Posting>>;
  /** Score by slot, all zero between searches. */
  readonly totals: Float64Array;
}

interface Entry {
  readonly version: number;
  readonly loaded: Promise<CachedIndex>;
  bytes: number;
}

const BYTES_OF_CHUNK = 50;
const BYTES_OF_ENTRY = 12;

/**
 * Ranks chunks by keywords in memory. Caches the postings of searched words for the most recently searched indexes,
 * until an index's version changes. Reading a word, once per version, takes as long as one search in SQL.
 */
export function createPostingCache(database: Database, maxBytes: number) {
  // An index that alone is too large is not kept.
  const indexes = new LRUCache<number, Entry>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => Math.max(1, bytes),
  });

  const count = (entry: Entry, indexNo: number, more: number): void => {
    // An evicted entry that only a running search still holds is not counted.
    if (indexes.peek(indexNo) !== entry) return;
    entry.bytes += more;
    indexes.delete(indexNo);
    indexes.set(indexNo, entry);
  };

  const load = (orgId: string, index: SearchedIndex): Entry => {
    const known = indexes.get(index.index_no);
    if (known !== undefined && known.version >= index.version) return known;
    const loaded = database
      .search(orgId, (db) => listLiveChunks(db, orgId, index))
      .then((live): CachedIndex => {
        const chunkNos = Int32Array.from(live).sort();
        const slotOf = new Map(Array.from(chunkNos, (chunkNo, slot) => [chunkNo, slot]));
        const totals = new Float64Array(chunkNos.length);
        return { chunkNos, slotOf, terms: new Map(), totals };
      });
    const entry: Entry = { version: index.version, loaded, bytes: 0 };
    indexes.set(index.index_no, entry);
    loaded.then(
      (cached) => count(entry, index.index_no, cached.chunkNos.length * BYTES_OF_CHUNK),
      () => {
        if (indexes.peek(index.index_no) === entry) indexes.delete(index.index_no);
      },
    );
    return entry;
  };

  const readTerms = async (
    orgId: string,
    index: SearchedIndex,
    entry: Entry,
    cached: CachedIndex,
    lexemes: readonly string[],
  ): Promise<Map<string, Posting>> => {
    const found = await database.search(orgId, (db) => readPostings(db, orgId, index.index_no, lexemes));
    const slope = lengthSlope(index);
    return new Map(
      lexemes.map((lexeme) => {
        const packed = found.get(lexeme) ?? Buffer.alloc(0);
        const frequency = packed.length / 8;
        const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
        const weight = frequencyWeight(index.chunk_count, frequency);
        const slots = new Int32Array(frequency);
        const scores = new Float64Array(frequency);
        let size = 0;
        for (let at = 0; at < packed.length; at += 8) {
          const slot = cached.slotOf.get(view.getInt32(at));
          // The chunk belongs to a revision that is not searchable.
          if (slot === undefined) continue;
          slots[size] = slot;
          scores[size] = weight * termScore(view.getInt16(at + 4), view.getInt16(at + 6), slope);
          size += 1;
        }
        count(entry, index.index_no, size * BYTES_OF_ENTRY);
        const most = frequency > 0 ? weight : 0;
        return [lexeme, { slots: slots.slice(0, size), scores: scores.slice(0, size), most }];
      }),
    );
  };

  return {
    /**
     * The chunks with the best BM25 scores, best first, among all or the given ones: the same result as searchKeywords
     * without other limits.
     */
    async search(
      orgId: string,
      index: SearchedIndex,
      terms: readonly PlainTerm[],
      limit: number,
      among: readonly number[] | null = null,
    ): Promise<KeywordHit[]> {
      const entry = load(orgId, index);
      const cached = await entry.loaded;
      const missing = terms.map((term) => term.lexeme).filter((lexeme) => !cached.terms.has(lexeme));
      if (missing.length > 0) {
        const read = readTerms(orgId, index, entry, cached, missing);
        for (const lexeme of missing) {
          const posting = read.then((found) => found.get(lexeme) as Posting);
          cached.terms.set(lexeme, posting);
          posting.catch(() => cached.terms.delete(lexeme));
        }
      }
      const postings = await Promise.all(
        terms.map(async ({ lexeme, weight }) => ({
          weight,
          posting: await (cached.terms.get(lexeme) as Promise<Posting>),
        })),
      );
      // There must be no await from here on, because all searches share the totals.
      const { totals, chunkNos } = cached;
      for (const { weight, posting } of postings) {
        const { slots, scores } = posting;
        for (let i = 0; i < slots.length; i += 1) {
          const slot = slots[i] as number;
          totals[slot] = (totals[slot] as number) + weight * (scores[i] as number);
        }
      }
      const wanted = among === null ? null : new Set(among);
      const best = createBest(limit);
      for (const { posting } of postings) {
        for (const slot of posting.slots) {
          const total = totals[slot] as number;
          // The chunk was already added for another word.
          if (total === 0) continue;
          totals[slot] = 0;
          if (wanted === null || wanted.has(chunkNos[slot] as number)) best.add(slot, total);
        }
      }
      const { slots, scores } = best.sorted();
      const most = postings.reduce((sum, { weight, posting }) => sum + weight * posting.most, 0);
      return slots.map((slot, i) => {
        const score = scores[i] as number;
        return { chunk_no: chunkNos[slot] as number, score, share: score / most };
      });
    },

    /** The numbers of the searchable chunks. */
    async readLive(orgId: string, index: SearchedIndex): Promise<Pick<ReadonlySet<number>, "has">> {
      const { slotOf } = await load(orgId, index).loaded;
      return slotOf;
    },
  };
}
