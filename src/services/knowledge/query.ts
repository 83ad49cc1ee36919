import { invalid, ValidationProblem } from "../../domain/errors.ts";
import { dataloaderFields } from "../../domain/knowledge/document-metadata.ts";
import { resolveFilter, type FilterSchemas, type ResolvedFilter } from "../../domain/knowledge/filter.ts";
import { KEYWORD_WEIGHT } from "../../domain/knowledge/fuse.ts";
import type { KnowledgeAnswer, KnowledgeQuery, KnowledgeResult, QueryStrategy } from "../../domain/knowledge/query.ts";
import { parseSearch, type SearchTerms } from "../../domain/knowledge/search-terms.ts";
import { EmbeddingError, type Embedder } from "../../platform/embeddings/types.ts";
import type { KnowledgeBaseRow } from "../../stores/knowledge/knowledge-bases.ts";
import { countMatched, findActiveIndex, type SearchedIndex } from "../../stores/knowledge/search.ts";
import type { QueryDeps, Search } from "./deps.ts";
import { rank, type ResourceLimit } from "./query-rankings.ts";
import { candidatesRead, choose, combine, present, readCandidates, rerank, upstreamFailed } from "./query-results.ts";

/** The parts of a knowledge base that a query needs. */
export type QueriedKnowledgeBase = Pick<
  KnowledgeBaseRow,
  "knowledge_base_id" | "user_metadata_schema" | "dataloader_metadata_schema"
>;

/** Attempts of one query: it is repeated when a new revision or index replaced what it found. */
const MAX_TRIES = 4;

/**
 * Searches a knowledge base. Throws ValidationProblem (a filter that does not fit the metadata schemas, or `semantic`
 * or `rerank` without a model for it) and Problem `upstream_failed` (a configured model that does not respond). `loc`
 * is the location of the query in the request.
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

/** One search. `isWhole`: nothing that was found was replaced or deleted before it was read. */
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
  const read: Search["read"] = (work) => deps.database.search(orgId, work);
  const findActive = () => read((db) => findActiveIndex(db, orgId, base.knowledge_base_id));
  const index = await findActive();
  const embedder = await chooseEmbedder(deps, orgId, index, request.query_strategy, loc);
  const queries = typeof request.query === "string" ? [request.query] : request.query;
  const parsed = queries.map(parseSearch);
  const answer = (
    results: readonly KnowledgeResult[],
    matched: number,
    { strategy, embeddingMs }: Omit<Embedded, "vectors">,
  ): KnowledgeAnswer => ({
    query: request.query,
    results,
    filter_report: { matched_resources: matched },
    strategy_used: strategy,
    latency_ms: Math.round(performance.now() - began),
    embedding_ms: Math.round(embeddingMs),
  });
  const wanted = embedder === null ? "keyword" : request.query_strategy;
  if (index === null) return { answer: answer([], 0, { strategy: wanted, embeddingMs: 0 }), isWhole: true };
  const search: Search = { ...deps, orgId, index, read };

  const counting =
    filter === null
      ? { resources: index.resource_count, chunks: index.chunk_count }
      : search.read((db) => countMatched(db, orgId, index.index_no, filter));
  const [matched, embedded] = await Promise.all([counting, embedQueries(embedder, parsed, wanted)]);
  if (matched.resources === 0) return { answer: answer([], 0, embedded), isWhole: true };
  const { vectors, strategy } = embedded;

  const count = candidatesRead(deps, request);
  const { max_chunks_per_resource: max } = request;
  const limit: ResourceLimit | null = max === undefined ? null : { max, wanted: count, resourceOf: new Map() };
  const rankings = await Promise.all(
    parsed.map((terms, i) => rank(search, { terms, filter, matched, strategy, vector: vectors[i] ?? null, limit })),
  );
  const keywordWeight = request.keyword_weight ?? KEYWORD_WEIGHT;
  const candidates = combine(rankings, strategy, keywordWeight, limit).slice(0, count);
  const { chunks, isWhole } = await readCandidates(search, candidates);
  if (candidates.length === 0 && (await findActive())?.index_no !== index.index_no)
    return { answer: answer([], 0, embedded), isWhole: false };
  const ordered = await rerank(deps, queries, candidates, chunks, request);
  const chosen = choose(ordered, chunks, request);
  const results = await present(search, request, { chosen, chunks, rankings });
  return { answer: answer(results, matched.resources, embedded), isWhole };
}

function readFilter(
  { filter }: KnowledgeQuery,
  base: QueriedKnowledgeBase,
  loc: ReadonlyArray<string | number>,
): ResolvedFilter | null {
  if (filter === undefined) return null;
  const schemas: FilterSchemas = {
    user: base.user_metadata_schema,
    dataloader: dataloaderFields(base.dataloader_metadata_schema),
  };
  const resolved = resolveFilter(filter, schemas, [...loc, "filter"]);
  if (resolved.issues.length > 0) throw new ValidationProblem(resolved.issues);
  return resolved.filter;
}

/** The query's embedder; null means keyword search. Throws 422 if there is none but `semantic` was requested. */
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
    const message = `${why} The mode "keyword" needs no embedding model.`;
    throw invalid([...loc, "query_strategy"], message, "embedding_not_configured");
  };
  if (index === null) return null;
  if (index.embedding_model === null) {
    return refuse("Semantic search needs an embedding model: this knowledge base was indexed without one.");
  }
  const found = await deps.embedders.find(orgId, index.embedding_model);
  return "no" in found ? refuse(found.no) : found.embedder;
}

interface Embedded {
  readonly vectors: readonly Float32Array[];
  readonly strategy: QueryStrategy;
  readonly embeddingMs: number;
}

/** If the model fails, a hybrid search falls back to keywords, and the response says so; a semantic search fails. */
async function embedQueries(
  embedder: Embedder | null,
  queries: readonly SearchTerms[],
  strategy: QueryStrategy,
): Promise<Embedded> {
  const texts = queries.map(({ plain }) => plain);
  // A query that only excludes words has no meaning to compare.
  if (embedder === null || texts.includes("")) return { vectors: [], strategy: "keyword", embeddingMs: 0 };
  const began = performance.now();
  try {
    const vectors = await embedder.embed(texts, "query");
    return { vectors, strategy, embeddingMs: performance.now() - began };
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error;
    if (strategy === "hybrid") return { vectors: [], strategy: "keyword", embeddingMs: performance.now() - began };
    throw upstreamFailed("The embedding model failed", error);
  }
}
