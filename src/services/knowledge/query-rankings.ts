import { Problem } from "../../domain/errors.ts";
import type { ResolvedFilter } from "../../domain/knowledge/filter.ts";
import type { QueryStrategy } from "../../domain/knowledge/query.ts";
import type { SearchTerms } from "../../domain/knowledge/search-terms.ts";
import { FUSED_DEPTH } from "../../domain/knowledge/fuse.ts";
import { searchKeywords } from "../../stores/knowledge/search-keywords.ts";
import { restrictChunks } from "../../stores/knowledge/search-limits.ts";
import type { SearchLimits } from "../../stores/knowledge/search-limits.ts";
import { searchAmong, searchNearest } from "../../stores/knowledge/search-vectors.ts";
import { readResourcesOf } from "../../stores/knowledge/search.ts";
import type { Hit, KeywordHit, Matched, QueryTerm, SearchedIndex } from "../../stores/knowledge/search.ts";
import type { QueryDeps } from "./deps.ts";
import type { Lexer } from "./lexer.ts";
import type { PlainTerm } from "./posting-cache.ts";

/** Candidates, as a multiple of the results, if some chunks are excluded. */
const SPARE = 3;
/** How many more nearest neighbours to read if they are checked afterwards. */
const NEAREST_SPARE = 20;
/** If a filter leaves no more chunks than this, the search is exact. */
const MAX_EXACT = 20_000;

/** First depth of a search that limits the chunks of a resource, and the factor by which the next one goes deeper. */
const LIMITED_DEPTH = 400;
const DEEPER = 8;

/** The most chunks of a resource in a ranking. */
export interface ResourceLimit {
  readonly max: number;
  /** Places that the ranking should fill nevertheless, if there are enough chunks. */
  readonly wanted: number;
  /** The resources of the found chunks; searches add to it. */
  readonly resourceOf: Map<number, string>;
}

/** One query's rankings, best first. */
export interface Rankings {
  readonly terms: readonly QueryTerm[];
  readonly keyword: readonly KeywordHit[];
  readonly semantic: readonly Hit[];
  /** In a hybrid search, the similarity of chunks found only by their words. */
  readonly nearness: readonly Hit[];
  /** In a hybrid search, the keyword scores of chunks found only by their meaning. */
  readonly wording: readonly KeywordHit[];
}

export interface RankRequest {
  readonly terms: SearchTerms;
  readonly filter: ResolvedFilter | null;
  readonly matched: Matched;
  readonly strategy: QueryStrategy;
  readonly vector: Float32Array | null;
  /** Null: a resource may have any number of chunks. */
  readonly limit: ResourceLimit | null;
}

/** Ranks by words and by meaning, as the strategy says. */
export async function rank(
  deps: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  { terms, filter, matched, strategy, vector, limit }: RankRequest,
): Promise<Rankings> {
  const limits: SearchLimits = { filter, phrases: terms.phrases, excluded: terms.excluded };
  const isLimited = filter !== null || terms.phrases.length > 0 || terms.excluded.length > 0;
  const searchWords = (
    lexed: readonly QueryTerm[],
    depth: number,
    among: readonly number[] | null = null,
  ): Promise<KeywordHit[]> => {
    const plain = plainTerms(lexed);
    return plain === null || isLimited
      ? deps.database.search((db) => searchKeywords(db, orgId, index, lexed, { ...limits, among }, depth))
      : deps.postings.search(orgId, index, plain, depth, among);
  };
  const byKeyword = async (): Promise<Pick<Rankings, "terms" | "keyword">> => {
    const lexed = await readTerms(deps.lexer, terms, index.languages);
    if (strategy === "semantic" || lexed.length === 0) return { terms: lexed, keyword: [] };
    const keyword = await searchWithin(deps, orgId, index, limit, (depth) => searchWords(lexed, depth));
    return { terms: lexed, keyword };
  };
  const byMeaning = async (): Promise<Hit[]> => {
    if (vector === null || strategy === "keyword") return [];
    // A phrase only restricts the words: a text near in meaning need not contain it, and a question may quote
    // something.
    const request = { vector, limits: { ...limits, phrases: [] }, matched, strategy };
    const search = (depth: number, isExact: boolean): Promise<Hit[]> =>
      searchVectors(deps, orgId, index, { ...request, limit: depth, isExact });
    return await searchWithin(deps, orgId, index, limit, search);
  };
  const [{ terms: lexed, keyword }, semantic] = await Promise.all([byKeyword(), byMeaning()]);
  const found = { terms: lexed, keyword, semantic };
  if (vector === null || strategy !== "hybrid") return { ...found, nearness: [], wording: [] };
  const wordsOnly = without(keyword, semantic);
  // A ranking with places left contains every chunk that has one of the words.
  const isWhole = lexed.length === 0 || (limit === null && keyword.length < FUSED_DEPTH);
  const meaningOnly = isWhole ? [] : without(semantic, keyword);
  const [nearness, wording] = await Promise.all([
    wordsOnly.length === 0 ? [] : compareWith(deps, orgId, index, vector, wordsOnly, wordsOnly.length),
    meaningOnly.length === 0 ? [] : searchWords(lexed, meaningOnly.length, meaningOnly),
  ]);
  return { ...found, nearness, wording };
}

/** The chunks of one ranking that are not in the other. */
function without(ranking: readonly Hit[], other: readonly Hit[]): number[] {
  const had = new Set(other.map(({ chunk_no }) => chunk_no));
  return ranking.map(({ chunk_no }) => chunk_no).filter((chunkNo) => !had.has(chunkNo));
}

/** Compares a vector with the vectors of some chunks, one by one. */
async function compareWith(
  { database, vectors }: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  vector: Float32Array,
  among: readonly number[],
  limit: number,
): Promise<Hit[]> {
  return index.has_hnsw
    ? await database.search((db) => searchAmong(db, orgId, index, vector, among, limit))
    : await vectors.search(orgId, index, vector, { among, limit });
}

/**
 * The first places of a ranking, limited to `max` chunks of a resource. A long document may fill all of the first
 * places, so it looks deeper until there are enough chunks of other resources. From the second time on `isExact` is
 * true: an approximate search may end before it has seen every chunk.
 */
async function searchWithin<Found extends Hit>(
  { database }: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  limit: ResourceLimit | null,
  search: (depth: number, isExact: boolean) => Promise<Found[]>,
): Promise<Found[]> {
  if (limit === null) return await search(FUSED_DEPTH, false);
  const { resourceOf } = limit;
  for (let depth = LIMITED_DEPTH; ; depth *= DEEPER) {
    const isExact = depth > LIMITED_DEPTH || !index.has_hnsw;
    const hits = await search(depth, isExact);
    const unknown = hits.map(({ chunk_no }) => chunk_no).filter((chunkNo) => !resourceOf.has(chunkNo));
    for (const [chunkNo, resourceId] of await database.search((db) =>
      readResourcesOf(db, orgId, index.index_no, unknown),
    )) {
      resourceOf.set(chunkNo, resourceId);
    }
    const kept = limitResources(hits, limit).slice(0, FUSED_DEPTH);
    if (kept.length >= limit.wanted || (isExact && hits.length < depth)) return kept;
  }
}

/** The best of each resource, in the same order. A chunk that was removed meanwhile stays: whoever reads it notices. */
export function limitResources<Found extends Pick<Hit, "chunk_no">>(
  found: readonly Found[],
  { max, resourceOf }: ResourceLimit,
): Found[] {
  const taken = new Map<string, number>();
  return found.filter(({ chunk_no }) => {
    const resourceId = resourceOf.get(chunk_no);
    if (resourceId === undefined) return true;
    const count = taken.get(resourceId) ?? 0;
    taken.set(resourceId, count + 1);
    return count < max;
  });
}

/** The same if every word has one lexeme; null otherwise. */
function plainTerms(terms: readonly QueryTerm[]): PlainTerm[] | null {
  const plain = terms.flatMap(({ lexemes, prefix, weight }) => {
    const [lexeme] = lexemes;
    return prefix || lexemes.length !== 1 || lexeme === undefined ? [] : [{ lexeme, weight }];
  });
  return plain.length === terms.length ? plain : null;
}

/** The lexemes of a query's words. One that two words share counts as often as both. */
async function readTerms(lexer: Lexer, { words }: SearchTerms, languages: readonly string[]): Promise<QueryTerm[]> {
  const terms = new Map<string, QueryTerm>();
  const add = (lexemes: readonly string[], prefix: boolean, weight: number): void => {
    const key = JSON.stringify([lexemes, prefix]);
    terms.set(key, { lexemes, prefix, weight: weight + (terms.get(key)?.weight ?? 0) });
  };
  const whole = words.filter((word) => !word.prefix);
  const lexed =
    whole.length === 0 || languages.length === 0
      ? []
      : await lexer.lex(
          whole.map((word) => word.text),
          languages,
        );
  // Each language stems a word in its own way: any of the forms counts as the word.
  const forms = new Map<string, { readonly word: number; readonly lexemes: string[] }>();
  for (const [word, each] of lexed.entries()) {
    for (const { position, lexeme } of each) {
      const key = `${word}.${position}`;
      const known = forms.get(key);
      if (known === undefined) forms.set(key, { word, lexemes: [lexeme] });
      else known.lexemes.push(lexeme);
    }
  }
  for (const { word, lexemes } of forms.values()) add(lexemes, false, whole[word]?.count ?? 1);
  for (const { text, prefix, count } of words) if (prefix) add([text], true, count);
  return [...terms.values()];
}

interface VectorRequest {
  readonly vector: Float32Array;
  readonly limits: SearchLimits;
  readonly matched: Matched;
  readonly strategy: QueryStrategy;
  readonly limit: number;
  readonly isExact: boolean;
}

async function searchVectors(
  deps: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  request: VectorRequest,
): Promise<Hit[]> {
  const { vector, limits, matched, limit, isExact } = request;
  if (vector.length !== index.dimensions) {
    if (index.dimensions === null) return [];
    throw new Problem(
      "upstream_failed",
      `The embedding model now gives ${vector.length} dimensions and the knowledge base was indexed with ${index.dimensions}: run a full sync.`,
    );
  }
  const restrict = (among: readonly number[] | null): Promise<number[]> =>
    deps.database.search((db) => restrictChunks(db, orgId, index, limits, among));
  if (index.has_hnsw && isExact) return await compareWith(deps, orgId, index, vector, await restrict(null), limit);
  if (index.has_hnsw) {
    const found = await searchNearestUnchecked(deps, orgId, index, request);
    if (found !== null) return found;
    const among = limits.filter !== null && matched.chunks <= MAX_EXACT ? await restrict(null) : null;
    if (among !== null) return await compareWith(deps, orgId, index, vector, among, limit);
    return await deps.database.search((db) => searchNearest(db, orgId, index, vector, limits, limit));
  }
  const search = (among: readonly number[] | null, count: number): Promise<Hit[]> =>
    deps.vectors.search(orgId, index, vector, { among, limit: count });
  if (limits.filter !== null) return await search(await restrict(null), limit);
  if (limits.excluded.length === 0) return await search(null, limit);
  // Few chunks contain an excluded word: a check of the nearest ones is mostly enough, and a check of all takes long.
  const depth = limit * SPARE;
  const nearest = await search(null, depth);
  const allowed = new Set(await restrict(nearest.map((hit) => hit.chunk_no)));
  return takeAllowed(nearest, depth, allowed, limit) ?? (await search(await restrict(null), limit));
}

/**
 * Lets the posting cache check which chunks are searchable: a hybrid search mostly reads it anyway for its words. Null
 * if limits or the strategy rule that out, or if too many of the nearest chunks are being written or replaced.
 */
async function searchNearestUnchecked(
  { database, postings }: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  { vector, limits, strategy, limit }: VectorRequest,
): Promise<Hit[] | null> {
  if (strategy !== "hybrid" || limits.filter !== null || limits.excluded.length > 0) return null;
  const depth = limit + NEAREST_SPARE;
  const [nearest, live] = await Promise.all([
    database.search((db) => searchNearest(db, orgId, index, vector, null, depth)),
    postings.readLive(orgId, index),
  ]);
  return takeAllowed(nearest, depth, live, limit);
}

/** The first `depth` of the nearest that are searchable; null if they are too few and there may be more beyond. */
function takeAllowed(
  nearest: readonly Hit[],
  depth: number,
  allowed: Pick<ReadonlySet<number>, "has">,
  limit: number,
): Hit[] | null {
  const found = nearest.filter((hit) => allowed.has(hit.chunk_no)).slice(0, limit);
  return found.length === limit || nearest.length < depth ? found : null;
}
