import { z } from "zod";
import { listUpTo, textUpTo, wholeNumber } from "../schema-parts.ts";
import { jsonObjectSchema } from "../json-schema.ts";
import type { TextRange } from "./chunk-ranges.ts";
import { KEYWORD_WEIGHT } from "./fuse.ts";

export const QUERY_STRATEGIES = ["hybrid", "semantic", "keyword"] as const;
export type QueryStrategy = (typeof QUERY_STRATEGIES)[number];

/** Longest query in characters, and most queries in one request. */
const MAX_QUERY = 4000;
const MAX_QUERIES = 8;
const MAX_TOP_K = 100;
const MAX_NEIGHBORS = 10;

const queryText = textUpTo(MAX_QUERY).regex(/\S/u, "a query must not be blank");

/** A query to a knowledge base, by the API or by the knowledge node. */
export const knowledgeQuerySchema = z.strictObject({
  query: z
    .union([queryText, listUpTo(MAX_QUERIES, queryText)])
    .describe(
      'Search words. Supports "phrases", begin* and -not. With several queries each is ranked alone, then the rankings are fused',
    ),
  query_strategy: z.enum(QUERY_STRATEGIES).default("hybrid"),
  keyword_weight: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      `Weight of the keyword ranking in a \`hybrid\` search: 0 ranks by meaning alone, 1 by words alone. Default: ${KEYWORD_WEIGHT}`,
    ),
  top_k: wholeNumber(1, MAX_TOP_K).default(10),
  filter: jsonObjectSchema
    .optional()
    .describe("`{and|or|not: [...]}` or `{field, op, value}` over metadata and built-in fields"),
  score_threshold: z
    .number()
    .optional()
    .describe(
      "Minimum `score` of a result: the reranker's score if one is used, otherwise the score of the strategy used. A `hybrid` score is between 0 and 1, combined from the share of matched query words and the cosine similarity",
    ),
  max_chunks_per_resource: wholeNumber(1, MAX_TOP_K).optional(),
  neighbors: wholeNumber(0, MAX_NEIGHBORS)
    .default(0)
    .describe("Number of chunks before and after each result to add to it"),
  rerank: z.boolean().optional().describe("Whether to rerank the results. Default: true if a reranker is configured"),
  include: z
    .array(z.enum(["highlights", "metadata", "text"]))
    .max(3)
    .default(["highlights", "metadata", "text"])
    .describe("Parts of a result to return; the others are null"),
});

export type KnowledgeQuery = Readonly<z.infer<typeof knowledgeQuerySchema>>;
/** The same without defaults. */
export type KnowledgeQueryInput = Readonly<z.input<typeof knowledgeQuerySchema>>;

/** A part of a result's text. */
export type Highlight = TextRange;

/** A chunk beside a result, in text order. */
export interface Neighbor {
  readonly chunk_id: string;
  readonly chunk_index: number;
  readonly text: string;
  readonly char_start: number;
  readonly char_end: number;
}

export interface KnowledgeResult {
  readonly chunk_id: string;
  readonly resource_id: string;
  readonly resource_path: string;
  readonly source_url: string | null;
  readonly text: string | null;
  /** The score that orders the results (see `scores`). */
  readonly score: number;
  /** The cosine similarity, the BM25 score and the reranker's score; null if the chunk was not among the first 100 of that ranking. */
  readonly scores: {
    readonly semantic: number | null;
    readonly keyword: number | null;
    readonly rerank: number | null;
  };
  /** From 1. */
  readonly rank: number;
  readonly chunk_index: number;
  readonly page_start: number | null;
  readonly page_end: number | null;
  /** UTF-16 units of the document's extracted text. */
  readonly char_start: number;
  readonly char_end: number;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** Positions of the query's words in `text`. */
  readonly highlights: readonly Highlight[] | null;
  /** Only if neighbouring chunks were requested. */
  readonly neighbors?: readonly Neighbor[];
}

export interface KnowledgeAnswer {
  readonly query: string | readonly string[];
  readonly results: readonly KnowledgeResult[];
  /** Number of documents that match the filter; all documents if there is no filter. */
  readonly filter_report: { readonly matched_resources: number };
  /** `keyword` if `hybrid` was requested but there are no embeddings. */
  readonly strategy_used: QueryStrategy;
  /** Total milliseconds, and those spent on embedding the query. */
  readonly latency_ms: number;
  readonly embedding_ms: number;
}
