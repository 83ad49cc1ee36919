import { Problem } from "../../domain/errors.ts";
import { embeddedText } from "../../domain/knowledge/chunk.ts";
import { fuseRankings, fuseScores } from "../../domain/knowledge/fuse.ts";
import type { KnowledgeQuery, KnowledgeResult, Neighbor, QueryStrategy } from "../../domain/knowledge/query.ts";
import { EmbeddingError } from "../../platform/embeddings/types.ts";
import type { Db } from "../../stores/db.ts";
import { readChunks, readPositions, type FoundChunk, type Hit } from "../../stores/knowledge/search.ts";
import type { QueryDeps, Search } from "./deps.ts";
import { findHighlights } from "./highlights.ts";
import { limitResources, type Rankings, type ResourceLimit } from "./query-rankings.ts";

/** Most results that a reranker reads. */
const RERANKED = 50;

interface Candidate {
  readonly chunk_no: number;
  readonly score: number;
  readonly rerank: number | null;
}

/**
 * Merges rankings into one order. A single ranking keeps its scores, and the two rankings of one query are fused by
 * score. Rankings of several queries are merged by rank, because their scores cannot be compared.
 */
export function combine(
  rankings: readonly Rankings[],
  strategy: QueryStrategy,
  keywordWeight: number,
  limit: ResourceLimit | null,
): Candidate[] {
  const [single] = rankings;
  if (rankings.length === 1 && single !== undefined && strategy !== "hybrid") {
    return single[strategy].map((hit) => ({ ...hit, rerank: null }));
  }
  const hybrid = { keyword: keywordWeight, semantic: 1 - keywordWeight };
  const weights = strategy === "hybrid" ? hybrid : { keyword: 0, semantic: 0, [strategy]: 1 };
  const legs = (["keyword", "semantic"] as const).filter((leg) => weights[leg] > 0);
  const fused =
    rankings.length === 1 && single !== undefined
      ? fuseScores(
          [...single.keyword, ...single.wording].map(({ chunk_no, share }) => [chunk_no, share] as const),
          [...single.semantic, ...single.nearness].map(({ chunk_no, score }) => [chunk_no, score] as const),
          keywordWeight,
        )
      : fuseRankings(
          rankings.flatMap((ranking) =>
            legs.map((leg) => ({ keys: ranking[leg].map((hit) => hit.chunk_no), weight: weights[leg] })),
          ),
        );
  const candidates = [...fused].map(([chunk_no, score]) => ({ chunk_no, score, rerank: null }));
  // Limited again, because each ranking may contribute different chunks of a resource.
  return limit === null ? candidates : limitResources(candidates, limit);
}

/** How many candidates are read, from which the results are chosen. */
export function candidatesRead({ reranker }: QueryDeps, { top_k, rerank }: KnowledgeQuery): number {
  return reranker !== null && rerank !== false ? Math.max(RERANKED, top_k) : top_k;
}

export async function readCandidates(
  { read, orgId, index }: Search,
  candidates: readonly Candidate[],
): Promise<{ readonly chunks: Map<number, FoundChunk>; readonly isWhole: boolean }> {
  const numbers = candidates.map((each) => each.chunk_no);
  const rows = await read((db) => readChunks(db, orgId, index.index_no, numbers));
  return { chunks: new Map(rows.map((row) => [row.chunk_no, row])), isWhole: rows.length === numbers.length };
}

export async function rerank(
  { reranker }: QueryDeps,
  queries: readonly string[],
  candidates: readonly Candidate[],
  chunks: ReadonlyMap<number, FoundChunk>,
  request: KnowledgeQuery,
): Promise<readonly Candidate[]> {
  if (reranker === null || request.rerank === false) return candidates;
  const read = candidates.filter(({ chunk_no }) => chunks.has(chunk_no));
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

/** The first candidates with a sufficient score. A missing candidate was deleted during the search. */
export function choose(
  candidates: readonly Candidate[],
  chunks: ReadonlyMap<number, FoundChunk>,
  { top_k, score_threshold = -Infinity }: KnowledgeQuery,
): Candidate[] {
  return candidates.filter(({ chunk_no, score }) => score >= score_threshold && chunks.has(chunk_no)).slice(0, top_k);
}

export async function present(
  { read, lexer, orgId, index }: Search,
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
    include.includes("highlights") && rows.length > 0 ? findHighlights(lexer, terms, texts, index.languages) : null,
    neighbors > 0 ? read((db) => readNeighbors(db, orgId, index.index_no, rows, neighbors)) : null,
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
  type Place = Pick<FoundChunk, "resource_id" | "chunk_index">;
  const key = ({ resource_id, chunk_index }: Place): string => `${resource_id}.${chunk_index}`;
  const placesBeside = ({ resource_id, chunk_index }: Place): Place[] =>
    Array.from({ length: 2 * distance + 1 }, (_, i) => ({
      resource_id,
      chunk_index: chunk_index - distance + i,
    })).filter((each) => each.chunk_index >= 0 && each.chunk_index !== chunk_index);
  const places = new Map(rows.flatMap(placesBeside).map((each) => [key(each), each]));
  const read = await readPositions(db, orgId, indexNo, [...places.values()]);
  const found = new Map(read.map((row) => [key(row), row]));
  return rows.map((row) =>
    placesBeside(row)
      .flatMap((each) => found.get(key(each)) ?? [])
      .map(({ chunk_id, chunk_index, text, char_start, char_end }) => ({
        chunk_id,
        chunk_index,
        text,
        char_start,
        char_end,
      })),
  );
}

export const upstreamFailed = (what: string, error: EmbeddingError): Problem =>
  new Problem("upstream_failed", `${what}: ${error.message}`, { cause: error });
