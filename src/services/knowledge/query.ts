import { invalid, Problem, ValidationProblem } from "../../domain/errors.ts";
import { resolveFilter } from "../../domain/knowledge/filter.ts";
import type { FilterSchemas, ResolvedFilter } from "../../domain/knowledge/filter.ts";
import { FUSED_DEPTH, fuseRankings } from "../../domain/knowledge/fuse.ts";
import type {
  KnowledgeAnswer,
  KnowledgeQuery,
  KnowledgeResult,
  Neighbor,
  QueryStrategy,
} from "../../domain/knowledge/query.ts";
import { parseSearch } from "../../domain/knowledge/search-terms.ts";
import type { SearchTerms } from "../../domain/knowledge/search-terms.ts";
import type { Embedder } from "../../platform/embeddings/types.ts";
import { EmbeddingError } from "../../platform/embeddings/types.ts";
import type { Db } from "../../stores/db.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import {
  countMatched,
  findActiveIndex,
  readChunks,
  readPositions,
  restrictChunks,
  searchAmong,
  searchKeywords,
  searchNearest,
} from "../../stores/knowledge/search.ts";
import type {
  FoundChunk,
  Hit,
  Matched,
  QueryTerm,
  SearchedIndex,
  SearchLimits,
} from "../../stores/knowledge/search.ts";
import type { QueryDeps } from "./deps.ts";
import { findHighlights } from "./highlights.ts";
import type { Lexer } from "./lexer.ts";
import type { PlainTerm } from "./posting-cache.ts";

/** What of a knowledge base a query needs. */
export type QueriedKnowledgeBase = Pick<
  KnowledgeBaseRow,
  "knowledge_base_id" | "user_metadata_schema" | "dataloader_metadata_schema"
>;

/** Places of a ranking that are looked at where a resource may have few of them. */
const LIMITED_DEPTH = 400;
/** Results that a reranker reads. */
const RERANKED = 50;
/** So many times the results are looked at where some chunks are excluded. */
const SPARE = 3;
/** So many more of the nearest are read where they are checked afterwards. */
const NEAREST_SPARE = 20;
/** A filter that leaves no more chunks than this is searched exactly. */
const MAX_EXACT = 20_000;

/** One query's rankings, best first. */
interface Rankings {
  readonly terms: readonly QueryTerm[];
  readonly keyword: readonly Hit[];
  readonly semantic: readonly Hit[];
}

/** Searches of one query: it is done again where what it found was being replaced by a new revision or index. */
const MAX_TRIES = 4;

interface Candidate {
  readonly chunk_no: number;
  readonly score: number;
  readonly rerank: number | null;
}

/**
 * Searches a knowledge base. Throws ValidationProblem (a filter that does not fit the metadata schemas, `semantic` or `rerank`
 * where there is nothing to do it with) and Problem `upstream_failed` (a configured model that does not answer). `loc` is where the
 * request is, for the places of issues.
 */
export async function queryKnowledgeBase(
  deps: QueryDeps,
  orgId: string,
  base: QueriedKnowledgeBase,
  request: KnowledgeQuery,
  loc: ReadonlyArray<string | number> = ["body"],
): Promise<KnowledgeAnswer> {
  const began = performance.now();
  for (let tries = 1; ; tries += 1) {
    const { answer, isWhole } = await searchOnce(deps, orgId, base, request, loc, began);
    if (isWhole || tries === MAX_TRIES) return answer;
  }
}

/** One search. `isWhole`: nothing that it found was replaced or deleted before it was read. */
async function searchOnce(
  deps: QueryDeps,
  orgId: string,
  base: QueriedKnowledgeBase,
  request: KnowledgeQuery,
  loc: ReadonlyArray<string | number>,
  began: number,
): Promise<{ readonly answer: KnowledgeAnswer; readonly isWhole: boolean }> {
  const filter = readFilter(request, base, loc);
  if (request.rerank === true && deps.reranker === null) {
    throw invalid([...loc, "rerank"], "no reranker is configured (MILLRACE_RERANK_URL)", "rerank_not_configured");
  }
  const index = await deps.database.search((db) => findActiveIndex(db, orgId, base.knowledge_base_id));
  const embedder = await chooseEmbedder(deps, orgId, index, request.query_strategy, loc);
  const queries = typeof request.query === "string" ? [request.query] : request.query;
  const parsed = queries.map(parseSearch);
  const answer = (
    results: readonly KnowledgeResult[],
    matched: number,
    strategy: QueryStrategy,
    embeddingMs: number,
    isWhole = true,
  ): { answer: KnowledgeAnswer; isWhole: boolean } => ({
    answer: {
      query: request.query,
      results,
      filter_report: { matched_resources: matched },
      strategy_used: strategy,
      latency_ms: Math.round(performance.now() - began),
      embedding_ms: Math.round(embeddingMs),
    },
    isWhole,
  });
  const wanted = embedder === null ? "keyword" : request.query_strategy;
  if (index === null) return answer([], 0, wanted, 0);

  const counting =
    filter === null
      ? { resources: index.resource_count, chunks: index.chunk_count }
      : deps.database.search((db) => countMatched(db, orgId, index.index_no, filter));
  const [matched, { vectors, strategy, embeddingMs }] = await Promise.all([
    counting,
    embedQueries(embedder, parsed, wanted),
  ]);
  if (matched.resources === 0) return answer([], 0, strategy, embeddingMs);

  const depth = request.max_chunks_per_resource === undefined ? FUSED_DEPTH : LIMITED_DEPTH;
  const rankings = await Promise.all(
    parsed.map((terms, i) =>
      rank(deps, orgId, index, { terms, filter, matched, strategy, vector: vectors[i] ?? null, depth }),
    ),
  );
  const candidates = combine(rankings, strategy);
  const { chunks, isWhole } = await readCandidates(deps, orgId, index.index_no, candidates, request, depth);
  if (candidates.length === 0) {
    const present = await deps.database.search((db) => findActiveIndex(db, orgId, base.knowledge_base_id));
    if (present?.index_no !== index.index_no) return answer([], 0, strategy, embeddingMs, false);
  }
  const ordered = await rerank(deps, queries, candidates, chunks, request);
  const chosen = choose(ordered, chunks, request);
  const results = await present(deps, orgId, index, request, { chosen, chunks, rankings });
  return answer(results, matched.resources, strategy, embeddingMs, isWhole);
}

function readFilter(
  { filter }: KnowledgeQuery,
  base: QueriedKnowledgeBase,
  loc: ReadonlyArray<string | number>,
): ResolvedFilter | null {
  if (filter === undefined) return null;
  const schemas: FilterSchemas = { user: base.user_metadata_schema, dataloader: base.dataloader_metadata_schema };
  const resolved = resolveFilter(filter, schemas, [...loc, "filter"]);
  if (resolved.issues.length > 0) throw new ValidationProblem(resolved.issues);
  return resolved.filter;
}

/** Null: keyword search. Throws a 422 where `semantic` was asked for. */
async function chooseEmbedder(
  deps: QueryDeps,
  orgId: string,
  index: SearchedIndex | null,
  strategy: QueryStrategy,
  loc: ReadonlyArray<string | number>,
): Promise<Embedder | null> {
  if (strategy === "keyword") return null;
  const refuse = (why: string): null => {
    if (strategy === "hybrid") return null;
    throw invalid([...loc, "query_strategy"], `${why} "keyword" needs none.`, "embedding_not_configured");
  };
  if (index === null) return null;
  if (index.embedding_model === null) {
    return refuse("Semantic search needs an embedding model: this knowledge base is indexed without one.");
  }
  const found = await deps.embedders.find(orgId, index.embedding_model);
  return "no" in found ? refuse(found.no) : found.embedder;
}

interface Embedded {
  readonly vectors: readonly Float32Array[];
  readonly strategy: QueryStrategy;
  readonly embeddingMs: number;
}

/** A model that fails makes a hybrid search one by keywords, which the answer says; a semantic one fails. */
async function embedQueries(
  embedder: Embedder | null,
  queries: readonly SearchTerms[],
  strategy: QueryStrategy,
): Promise<Embedded> {
  if (embedder === null) return { vectors: [], strategy: "keyword", embeddingMs: 0 };
  const began = performance.now();
  try {
    const texts = queries.map(({ plain }) => plain);
    // A query that only excludes has nothing to be near to.
    if (texts.some((text) => text === "")) return { vectors: [], strategy: "keyword", embeddingMs: 0 };
    const vectors = await embedder.embed(texts, "query");
    return { vectors, strategy, embeddingMs: performance.now() - began };
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error;
    if (strategy === "hybrid") return { vectors: [], strategy: "keyword", embeddingMs: performance.now() - began };
    throw upstreamFailed("The embedding model failed", error);
  }
}

const upstreamFailed = (what: string, error: EmbeddingError): Problem =>
  new Problem("upstream_failed", `${what}: ${error.message}`, { cause: error });

interface RankRequest {
  readonly terms: SearchTerms;
  readonly filter: ResolvedFilter | null;
  readonly matched: Matched;
  readonly strategy: QueryStrategy;
  readonly vector: Float32Array | null;
  readonly depth: number;
}

async function rank(
  deps: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  { terms, filter, matched, strategy, vector, depth }: RankRequest,
): Promise<Rankings> {
  const limits: SearchLimits = { filter, phrases: terms.phrases, excluded: terms.excluded };
  const byKeyword = async (): Promise<Pick<Rankings, "terms" | "keyword">> => {
    const lexed = await readTerms(deps.lexer, terms, index.languages);
    if (strategy === "semantic" || lexed.length === 0) return { terms: lexed, keyword: [] };
    const plain = plainTerms(lexed);
    const isLimited = filter !== null || terms.phrases.length > 0 || terms.excluded.length > 0;
    const keyword =
      plain === null || isLimited
        ? await deps.database.search((db) => searchKeywords(db, orgId, index, lexed, limits, depth))
        : await deps.postings.search(orgId, index, plain, depth);
    return { terms: lexed, keyword };
  };
  const [keyword, semantic] = await Promise.all([
    byKeyword(),
    // A phrase is about words: what is near in meaning need not have it, and a question may quote something.
    vector === null || strategy === "keyword"
      ? []
      : searchVectors(deps, orgId, index, {
          vector,
          limits: { ...limits, phrases: [] },
          matched,
          strategy,
          limit: depth,
        }),
  ]);
  return { ...keyword, semantic };
}

/** The same where every word has one form; null otherwise. */
function plainTerms(terms: readonly QueryTerm[]): PlainTerm[] | null {
  const plain = terms.flatMap(({ lexemes, prefix, weight }) => {
    const [lexeme] = lexemes;
    return prefix || lexemes.length !== 1 || lexeme === undefined ? [] : [{ lexeme, weight }];
  });
  return plain.length === terms.length ? plain : null;
}

/** The lexemes of a query's words. What two words have in common counts as often as both. */
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
  // Languages stem a word each in its own way: any of the forms stands for it.
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
}

async function searchVectors(
  deps: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  request: VectorRequest,
): Promise<Hit[]> {
  const { vector, limits, matched, limit } = request;
  if (vector.length !== index.dimensions) {
    if (index.dimensions === null) return [];
    throw new Problem(
      "upstream_failed",
      `The embedding model now gives ${vector.length} dimensions and the knowledge base was indexed with ${index.dimensions}: run a full sync.`,
    );
  }
  const restrict = (among: readonly number[] | null): Promise<number[]> =>
    deps.database.search((db) => restrictChunks(db, orgId, index, limits, among));
  if (index.has_hnsw) {
    const found = await searchNearestUnchecked(deps, orgId, index, request);
    if (found !== null) return found;
    const among = limits.filter !== null && matched.chunks <= MAX_EXACT ? await restrict(null) : null;
    return await deps.database.search((db) =>
      among === null
        ? searchNearest(db, orgId, index, vector, limits, limit)
        : searchAmong(db, orgId, index, vector, among, limit),
    );
  }
  const search = (among: readonly number[] | null, count: number): Promise<Hit[]> =>
    deps.vectors.search(orgId, index, vector, { among, limit: count });
  if (limits.filter !== null) return await search(await restrict(null), limit);
  if (limits.excluded.length === 0) return await search(null, limit);
  // Few chunks have what is excluded: looking at the nearest ones is mostly enough, and at all of them it takes long.
  const depth = limit * SPARE;
  const nearest = await search(null, depth);
  const allowed = new Set(await restrict(nearest.map((hit) => hit.chunk_no)));
  return takeAllowed(nearest, depth, allowed, limit) ?? (await search(await restrict(null), limit));
}

/**
 * Leaves the check of what may be found to the posting cache, which a hybrid search mostly reads for its words. Null where limits or the
 * strategy rule that out, or where too many of the nearest are just being written or replaced.
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

/** The first of the `depth` nearest that may be found; null where they are too few and there may be more beyond. */
function takeAllowed(
  nearest: readonly Hit[],
  depth: number,
  allowed: Pick<ReadonlySet<number>, "has">,
  limit: number,
): Hit[] | null {
  const found = nearest.filter((hit) => allowed.has(hit.chunk_no)).slice(0, limit);
  return found.length === limit || nearest.length < depth ? found : null;
}

/** One order of what all rankings found. A single ranking keeps its own scores. */
function combine(rankings: readonly Rankings[], strategy: QueryStrategy): Candidate[] {
  const lists = rankings.flatMap(({ keyword, semantic }) =>
    strategy === "keyword" ? [keyword] : strategy === "semantic" ? [semantic] : [keyword, semantic],
  );
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only.map((hit) => ({ ...hit, rerank: null }));
  const fused = fuseRankings(lists.map((list) => list.map((hit) => hit.chunk_no)));
  return [...fused].map(([chunk_no, score]) => ({ chunk_no, score, rerank: null }));
}

async function readCandidates(
  deps: QueryDeps,
  orgId: string,
  indexNo: number,
  candidates: readonly Candidate[],
  request: KnowledgeQuery,
  depth: number,
): Promise<{ readonly chunks: Map<number, FoundChunk>; readonly isWhole: boolean }> {
  const reranked = deps.reranker !== null && request.rerank !== false ? RERANKED : 0;
  const count = request.max_chunks_per_resource === undefined ? Math.max(request.top_k, reranked) : depth;
  const numbers = candidates.slice(0, count).map((each) => each.chunk_no);
  const rows = await deps.database.search((db) => readChunks(db, orgId, indexNo, numbers));
  return { chunks: new Map(rows.map((row) => [row.chunk_no, row])), isWhole: rows.length === numbers.length };
}

async function rerank(
  { reranker }: QueryDeps,
  queries: readonly string[],
  candidates: readonly Candidate[],
  chunks: ReadonlyMap<number, FoundChunk>,
  request: KnowledgeQuery,
): Promise<readonly Candidate[]> {
  if (reranker === null || request.rerank === false) return candidates;
  const read = candidates.slice(0, Math.max(RERANKED, request.top_k)).filter(({ chunk_no }) => chunks.has(chunk_no));
  const texts = read.map(({ chunk_no }) => embeddedText(chunks.get(chunk_no)));
  try {
    const scores = await reranker.rerank(queries.join("\n"), texts);
    return read
      .map(({ chunk_no }, i) => ({ chunk_no, score: scores[i] ?? 0, rerank: scores[i] ?? 0 }))
      .toSorted((a, b) => b.score - a.score);
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error;
    throw upstreamFailed("The reranker failed", error);
  }
}

/** What is embedded and ranked of a chunk: its headings, then its text. */
export function embeddedText(chunk: { readonly context: string; readonly text: string } | undefined): string {
  if (chunk === undefined) return "";
  return chunk.context === "" ? chunk.text : `${chunk.context}\n\n${chunk.text}`;
}

function choose(
  candidates: readonly Candidate[],
  chunks: ReadonlyMap<number, FoundChunk>,
  { top_k, score_threshold, max_chunks_per_resource }: KnowledgeQuery,
): Candidate[] {
  const taken = new Map<string, number>();
  const chosen: Candidate[] = [];
  for (const candidate of candidates) {
    if (chosen.length === top_k) break;
    if (score_threshold !== undefined && candidate.score < score_threshold) continue;
    // Absent: it was removed while we searched.
    const resourceId = chunks.get(candidate.chunk_no)?.resource_id;
    if (resourceId === undefined) continue;
    const count = taken.get(resourceId) ?? 0;
    if (max_chunks_per_resource !== undefined && count >= max_chunks_per_resource) continue;
    taken.set(resourceId, count + 1);
    chosen.push(candidate);
  }
  return chosen;
}

async function present(
  deps: QueryDeps,
  orgId: string,
  index: SearchedIndex,
  { include, neighbors }: KnowledgeQuery,
  found: {
    readonly chosen: readonly Candidate[];
    readonly chunks: ReadonlyMap<number, FoundChunk>;
    readonly rankings: readonly Rankings[];
  },
): Promise<KnowledgeResult[]> {
  const rows = found.chosen.flatMap((candidate) => found.chunks.get(candidate.chunk_no) ?? []);
  const texts = rows.map((row) => row.text);
  const terms = found.rankings.flatMap((each) => each.terms);
  const [highlights, beside] = await Promise.all([
    include.includes("highlights") && rows.length > 0
      ? findHighlights(deps.lexer, terms, texts, index.languages)
      : null,
    neighbors > 0 ? deps.database.search((db) => readNeighbors(db, orgId, index.index_no, rows, neighbors)) : null,
  ]);
  const scores = {
    keyword: bestScores(found.rankings.map((each) => each.keyword)),
    semantic: bestScores(found.rankings.map((each) => each.semantic)),
  };
  return rows.map((row, i) => ({
    chunk_id: row.chunk_id,
    resource_id: row.resource_id,
    resource_path: row.resource_path,
    source_url: row.source_url,
    text: include.includes("text") ? row.text : null,
    score: found.chosen[i]?.score ?? 0,
    scores: {
      semantic: scores.semantic.get(row.chunk_no) ?? null,
      keyword: scores.keyword.get(row.chunk_no) ?? null,
      rerank: found.chosen[i]?.rerank ?? null,
    },
    rank: i + 1,
    chunk_index: row.chunk_index,
    page_start: row.page_start,
    page_end: row.page_end,
    char_start: row.char_start,
    char_end: row.char_end,
    metadata: include.includes("metadata") ? row.metadata : null,
    highlights: highlights?.[i] ?? null,
    ...(beside === null ? {} : { neighbors: beside[i] ?? [] }),
  }));
}

function bestScores(rankings: ReadonlyArray<readonly Hit[]>): Map<number, number> {
  const best = new Map<number, number>();
  for (const { chunk_no, score } of rankings.flat()) best.set(chunk_no, Math.max(score, best.get(chunk_no) ?? score));
  return best;
}

async function readNeighbors(
  db: Db,
  orgId: string,
  indexNo: number,
  rows: readonly FoundChunk[],
  distance: number,
): Promise<Neighbor[][]> {
  const positions = rows.flatMap(({ resource_id, chunk_index }) =>
    Array.from({ length: 2 * distance + 1 }, (_, i) => ({
      resource_id,
      chunk_index: chunk_index - distance + i,
    })).filter((each) => each.chunk_index >= 0 && each.chunk_index !== chunk_index),
  );
  const key = (each: { readonly resource_id: string; readonly chunk_index: number }): string =>
    `${each.resource_id}.${each.chunk_index}`;
  const unique = [...new Map(positions.map((each) => [key(each), each])).values()];
  const found = new Map((await readPositions(db, orgId, indexNo, unique)).map((row) => [key(row), row]));
  return rows.map(({ resource_id, chunk_index }) =>
    positions
      .filter((each) => each.resource_id === resource_id && Math.abs(each.chunk_index - chunk_index) <= distance)
      .filter(
        (each, i, all) => each.chunk_index !== chunk_index && all.findIndex((other) => key(other) === key(each)) === i,
      )
      .toSorted((a, b) => a.chunk_index - b.chunk_index)
      .flatMap((each) => {
        const row = found.get(key(each));
        if (row === undefined) return [];
        const { chunk_id, text, char_start, char_end } = row;
        return [{ chunk_id, chunk_index: row.chunk_index, text, char_start, char_end }];
      }),
  );
}
