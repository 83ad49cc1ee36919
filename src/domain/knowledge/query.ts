import { z } from "zod";
import { jsonObjectSchema } from "../json-schema.ts";

export const QUERY_STRATEGIES = ["hybrid", "semantic", "keyword"] as const;
export type QueryStrategy = (typeof QUERY_STRATEGIES)[number];

/** Longest query, in characters, and how many may be asked at once. */
const MAX_QUERY = 4000;
const MAX_QUERIES = 8;
const MAX_TOP_K = 100;
const MAX_NEIGHBORS = 10;

const queryText = z.string().min(1).max(MAX_QUERY).regex(/\S/u, "a query must have more than blanks");

/** A query to a knowledge base, by the API or by the knowledge node. */
export const knowledgeQuerySchema = z.strictObject({
  query: z
    .union([queryText, z.array(queryText).min(1).max(MAX_QUERIES)])
    .describe('Words, "phrases", begin* and -not; each query is ranked alone, then the rankings are fused'),
  query_strategy: z.enum(QUERY_STRATEGIES).default("hybrid"),
  top_k: z.int().min(1).max(MAX_TOP_K).default(10),
  filter: jsonObjectSchema
    .optional()
    .describe("`{and|or|not: [...]}` or `{field, op, value}` over metadata and built-in fields"),
  score_threshold: z
    .number()
    .optional()
    .describe(
      "Lowest `score` of a result: of the reranker where one is used, else of the strategy used. That of `hybrid` is from 0 to 1",
    ),
  max_chunks_per_resource: z.int().min(1).max(MAX_TOP_K).optional(),
  neighbors: z.int().min(0).max(MAX_NEIGHBORS).default(0).describe("Chunks before and after each result to add to it"),
  rerank: z.boolean().optional().describe("Default: whether a reranker is configured"),
  include: z
    .array(z.enum(["highlights", "metadata", "text"]))
    .max(3)
    .default(["highlights", "metadata", "text"])
    .describe("Parts of a result; those not named are null"),
});

export type KnowledgeQuery = Readonly<z.infer<typeof knowledgeQuerySchema>>;
/** The same before defaults are filled in. */
export type KnowledgeQueryInput = Readonly<z.input<typeof knowledgeQuerySchema>>;

/** A part of a result's text in UTF-16 units; `end` is the first unit after it. */
export interface Highlight {
  readonly start: number;
  readonly end: number;
}

/** A chunk beside a result, in the order of the text. */
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
  /** What the results are ordered by: see `scores`. */
  readonly score: number;
  /** Cosine similarity, BM25 and the reranker's own; null where the chunk was not among the first 100 of that ranking. */
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
  /** UTF-16 units of the resource's extracted text. */
  readonly char_start: number;
  readonly char_end: number;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** Places of the query's words within `text`. */
  readonly highlights: readonly Highlight[] | null;
  /** Only where neighbors were asked for. */
  readonly neighbors?: readonly Neighbor[];
}

export interface KnowledgeAnswer {
  readonly query: string | readonly string[];
  readonly results: readonly KnowledgeResult[];
  /** How many resources the filter lets through; all of them without one. */
  readonly filter_report: { readonly matched_resources: number };
  /** `keyword` if `hybrid` was asked for and there are no embeddings to search. */
  readonly strategy_used: QueryStrategy;
  /** Milliseconds in all, and the part that embedding the query took. */
  readonly latency_ms: number;
  readonly embedding_ms: number;
}
