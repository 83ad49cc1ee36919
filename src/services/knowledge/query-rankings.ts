import { Problem } from "../../domain/errors.ts";
import type { ResolvedFilter } from "../../domain/knowledge/filter.ts";
import type { QueryStrategy } from "../../domain/knowledge/query.ts";
import type { SearchTerms } from "../../domain/knowledge/search-terms.ts";
import { FUSED_DEPTH } from "../../domain/knowledge/fuse.ts";
import { searchKeywords } from "../../stores/knowledge/search-keywords.ts";
import { restrictChunks, type SearchLimits } from "../../stores/knowledge/search-limits.ts";
import { searchAmong, searchNearest } from "../../stores/knowledge/search-vectors.ts";
import {
  readResourcesOf,
  type Hit,
  type KeywordHit,
  type Matched,
  type QueryTerm,
} from "../../stores/knowledge/search.ts";
import { prefixQuery } from "../../stores/knowledge/text-search.ts";
import type { Search } from "./deps.ts";
import type { Lexer } from "./lexer.ts";
import type { PlainTerm } from "./posting-cache.ts";

/** How many times more candidates than results to read if some chunks are excluded. */
const SPARE = 3;
/** How many additional nearest neighbours to read if they are checked afterwards. */
const NEAREST_SPARE = 20;
/** The search is exact if a filter leaves at most this many chunks. */
const MAX_EXACT = 20_000;

/** First depth of a search that limits the chunks per resource, and the factor by which each further search goes deeper. */
const LIMITED_DEPTH = 400;
const DEEPER = 8;

/** Limits how many chunks of one resource a ranking contains. */
export interface ResourceLimit {
  readonly max: number;
  /** How many chunks the ranking should contain nevertheless, if there are enough. */
  readonly wanted: number;
  /** The resources of the found chunks; searches add to it. */
  readonly resourceOf: Map<number, string>;
}

/** One query's rankings, best first. */
export interface Rankings {
  readonly terms: readonly QueryTerm[];
  readonly keyword: readonly KeywordHit[];
  readonly semantic: readonly Hit[];
  /** In a hybrid search, the similarity of chunks that only the keyword search found. */
  readonly nearness: readonly Hit[];
  /** In a hybrid search, the keyword scores of chunks that only the vector search found. */
  readonly wording: readonly KeywordHit[];
}

export interface RankRequest {
  readonly terms: SearchTerms;
  readonly filter: ResolvedFilter | null;
  readonly matched: Matched;
  readonly strategy: QueryStrategy;
  readonly vector: Float32Array | null;
  /** Null if a resource may have any number of chunks. */
  readonly limit: ResourceLimit | null;
}

/** Ranks by keywords, by vectors or by both, as the strategy says. */
export async function rank(
  search: Search,
  { terms, filter, matched, strategy, vector, limit }: RankRequest,
): Promise<Rankings> {
  const { read, postings, lexer, orgId, index } = search;
  const limits = await readLimits(lexer, terms, filter, index.languages);
  const isLimited = filter !== null || limits.required.length > 0 || limits.excluded.length > 0;
  const searchWords = (
    lexed: readonly QueryTerm[],
    depth: number,
    among: readonly number[] | null = null,
  ): Promise<KeywordHit[]> => {
    const plain = plainTerms(lexed);
    return plain === null || isLimited
      ? read((db) => searchKeywords(db, orgId, index, lexed, { ...limits, among }, depth))
      : postings.search(orgId, index, plain, depth, among);
  };
  const byKeyword = async (): Promise<Pick<Rankings, "terms" | "keyword">> => {
    const lexed = await readTerms(lexer, terms, index.languages);
    if (strategy === "semantic" || lexed.length === 0) return { terms: lexed, keyword: [] };
    const keyword = await searchWithin(search, limit, (depth) => searchWords(lexed, depth));
    return { terms: lexed, keyword };
  };
  const byMeaning = async (): Promise<Hit[]> => {
    if (vector === null || strategy === "keyword") return [];
    // A phrase restricts only the keyword search, because a question may quote words that a text of similar meaning
    // does not contain.
    const request = { vector, limits: { ...limits, required: [] }, matched, strategy };
    return await searchWithin(search, limit, (depth, isExact) =>
      searchVectors(search, { ...request, limit: depth, isExact }),
    );
  };
  const [{ terms: lexed, keyword }, semantic] = await Promise.all([byKeyword(), byMeaning()]);
  const found = { terms: lexed, keyword, semantic };
  if (vector === null || strategy !== "hybrid") return { ...found, nearness: [], wording: [] };
  const wordsOnly = without(keyword, semantic);
  // A keyword ranking that is not full already contains every chunk with one of the words.
  const isWhole = lexed.length === 0 || (limit === null && keyword.length < FUSED_DEPTH);
  const meaningOnly = isWhole ? [] : without(semantic, keyword);
  const [nearness, wording] = await Promise.all([
    wordsOnly.length === 0 ? [] : compareWith(search, vector, wordsOnly, wordsOnly.length),
    meaningOnly.length === 0 ? [] : searchWords(lexed, meaningOnly.length, meaningOnly),
  ]);
  return { ...found, nearness, wording };
}

/** The chunks of one ranking that are not in the other. */
function without(ranking: readonly Hit[], other: readonly Hit[]): number[] {
  const had = new Set(other.map(({ chunk_no }) => chunk_no));
  return ranking.map(({ chunk_no }) => chunk_no).filter((chunkNo) => !had.has(chunkNo));
}

/** Compares a vector exactly with the vectors of some chunks. */
async function compareWith(
  { read, vectors, orgId, index }: Search,
  vector: Float32Array,
  among: readonly number[],
  limit: number,
): Promise<Hit[]> {
  return index.has_hnsw
    ? await read((db) => searchAmong(db, orgId, index, vector, among, limit))
    : await vectors.search(orgId, index, vector, { among, limit });
}

/**
 * The top of a ranking, with at most `max` chunks per resource. A long document may fill the whole top, so the search
 * goes deeper until there are enough chunks of other resources. From the second search on `isExact` is true, because an
 * approximate search may miss chunks.
 */
async function searchWithin<Found extends Hit>(
  { read, orgId, index }: Search,
  limit: ResourceLimit | null,
  find: (depth: number, isExact: boolean) => Promise<Found[]>,
): Promise<Found[]> {
  if (limit === null) return await find(FUSED_DEPTH, false);
  const { resourceOf } = limit;
  for (let depth = LIMITED_DEPTH; ; depth *= DEEPER) {
    const isExact = depth > LIMITED_DEPTH || !index.has_hnsw;
    const hits = await find(depth, isExact);
    const unknown = hits.map(({ chunk_no }) => chunk_no).filter((chunkNo) => !resourceOf.has(chunkNo));
    const found = await read((db) => readResourcesOf(db, orgId, index.index_no, unknown));
    for (const [chunkNo, resourceId] of found) resourceOf.set(chunkNo, resourceId);
    const kept = limitResources(hits, limit).slice(0, FUSED_DEPTH);
    if (kept.length >= limit.wanted || (isExact && hits.length < depth)) return kept;
  }
}

/**
 * The best chunks of each resource, in the same order. A chunk that was removed meanwhile is kept, because reading it
 * later shows that.
 */
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

/** The terms as plain terms if every word has exactly one lexeme; null otherwise. */
function plainTerms(terms: readonly QueryTerm[]): PlainTerm[] | null {
  const plain = terms.flatMap(({ lexemes, prefix, weight }) => {
    const [lexeme] = lexemes;
    return prefix || lexemes.length !== 1 || lexeme === undefined ? [] : [{ lexeme, weight }];
  });
  return plain.length === terms.length ? plain : null;
}

/** The lexemes of a query's words. A lexeme that two words share gets the weight of both. */
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
  // Languages stem a word differently, so each of the forms counts as the word.
  for (const [at, lexemes] of lexed.entries()) if (lexemes.length > 0) add(lexemes, false, whole[at]?.count ?? 1);
  for (const { text, prefix, count } of words) if (prefix) add([text], true, count);
  return [...terms.values()];
}

/** The words and phrases that chunks must or must not contain. A phrase of stop words alone limits nothing. */
async function readLimits(
  lexer: Lexer,
  { phrases, excluded }: SearchTerms,
  filter: ResolvedFilter | null,
  languages: readonly string[],
): Promise<SearchLimits> {
  const whole = excluded.flatMap(({ words, prefix }) => (prefix ? [] : [words]));
  const queries = await lexer.phrases([...phrases, ...whole], languages);
  const isQuery = (query: string | null): query is string => query !== null;
  return {
    filter,
    required: queries.slice(0, phrases.length).filter(isQuery),
    excluded: [
      ...queries.slice(phrases.length).filter(isQuery),
      ...excluded.flatMap(({ words, prefix }) => (prefix ? words.map(prefixQuery) : [])),
    ],
  };
}

interface VectorRequest {
  readonly vector: Float32Array;
  readonly limits: SearchLimits;
  readonly matched: Matched;
  readonly strategy: QueryStrategy;
  readonly limit: number;
  readonly isExact: boolean;
}

async function searchVectors(search: Search, request: VectorRequest): Promise<Hit[]> {
  const { read, orgId, index, vectors } = search;
  const { vector, limits, matched, limit, isExact } = request;
  if (vector.length !== index.dimensions) {
    if (index.dimensions === null) return [];
    throw new Problem(
      "upstream_failed",
      `The embedding model now returns ${vector.length} dimensions, but the knowledge base was indexed with ${index.dimensions}: run a full sync.`,
    );
  }
  const restrict = (among: readonly number[] | null): Promise<number[]> =>
    read((db) => restrictChunks(db, orgId, index, limits, among));
  if (index.has_hnsw && isExact) return await compareWith(search, vector, await restrict(null), limit);
  if (index.has_hnsw) {
    const found = await searchNearestUnchecked(search, request);
    if (found !== null) return found;
    const among = limits.filter !== null && matched.chunks <= MAX_EXACT ? await restrict(null) : null;
    if (among !== null) return await compareWith(search, vector, among, limit);
    return await read((db) => searchNearest(db, orgId, index, vector, limits, limit));
  }
  const compare = (among: readonly number[] | null, count: number): Promise<Hit[]> =>
    vectors.search(orgId, index, vector, { among, limit: count });
  if (limits.filter !== null) return await compare(await restrict(null), limit);
  if (limits.excluded.length === 0) return await compare(null, limit);
  // Checking all chunks for excluded words takes long, and few contain one, so checking the nearest is mostly enough.
  const depth = limit * SPARE;
  const nearest = await compare(null, depth);
  const allowed = new Set(await restrict(nearest.map((hit) => hit.chunk_no)));
  return takeAllowed(nearest, depth, allowed, limit) ?? (await compare(await restrict(null), limit));
}

/**
 * Finds the nearest chunks and checks with the posting cache which are searchable, since a hybrid search mostly needs
 * that cache anyway. Null if limits or the strategy rule that out, or if too many of the nearest chunks are being
 * written or replaced.
 */
async function searchNearestUnchecked(
  { read, postings, orgId, index }: Search,
  { vector, limits, strategy, limit }: VectorRequest,
): Promise<Hit[] | null> {
  if (strategy !== "hybrid" || limits.filter !== null || limits.excluded.length > 0) return null;
  const depth = limit + NEAREST_SPARE;
  const [nearest, live] = await Promise.all([
    read((db) => searchNearest(db, orgId, index, vector, null, depth)),
    postings.readLive(orgId, index),
  ]);
  return takeAllowed(nearest, depth, live, limit);
}

/** The first `limit` allowed chunks among the `depth` nearest; null if these are too few and there may be more beyond. */
function takeAllowed(
  nearest: readonly Hit[],
  depth: number,
  allowed: Pick<ReadonlySet<number>, "has">,
  limit: number,
): Hit[] | null {
  const found = nearest.filter((hit) => allowed.has(hit.chunk_no)).slice(0, limit);
  return found.length === limit || nearest.length < depth ? found : null;
}
