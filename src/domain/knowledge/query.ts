import { z } from "zod";
import { listUpTo, textUpTo, wholeNumber } from "../schema-parts.ts";
import { jsonObjectSchema } from "../json-schema.ts";
import type { Immutable } from "../json.ts";
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

const span = z.object({ start: z.int(), end: z.int().describe("Position after the last UTF-16 unit of the match.") });

const resultSchema = z
  .object({
    chunk_id: z.uuid(),
    resource_id: z.uuid(),
    resource_path: z.string(),
    source_url: z.string().nullable(),
    text: z.string().nullable(),
    score: z
      .number()
      .describe("The score by which results are ordered. Its meaning depends on `strategy_used`; see `scores`."),
    scores: z
      .object({
        semantic: z.number().nullable().describe("Cosine similarity to the query."),
        keyword: z.number().nullable().describe("BM25 score."),
        rerank: z.number().nullable().describe("Score of the reranker."),
      })
      .describe("Score in each ranking; `null` if the chunk is not among the best of that ranking."),
    rank: z.int().describe("Position in the results, starting at 1."),
    chunk_index: z.int().describe("Position of the chunk in the document, starting at 0."),
    page_start: z.int().nullable(),
    page_end: z.int().nullable(),
    char_start: z.int().describe("Start in the document's extracted text, in UTF-16 units."),
    char_end: z.int(),
    metadata: z.record(z.string(), z.unknown()).nullable(),
    highlights: z.array(span).nullable().describe("Positions of the query's words in `text`, in UTF-16 units."),
    neighbors: z
      .array(
        z.object({
          chunk_id: z.uuid(),
          chunk_index: z.int(),
          text: z.string(),
          char_start: z.int(),
          char_end: z.int(),
        }),
      )
      .optional()
      .describe("Chunks before and after the result; only if requested with `neighbors`."),
  })
  .meta({ id: "KnowledgeResult" });

export const knowledgeAnswerSchema = z
  .object({
    query: z.union([z.string(), z.array(z.string())]),
    results: z.array(resultSchema),
    filter_report: z.object({
      matched_resources: z.int().describe("Number of documents that match the filter; without a filter, all of them."),
    }),
    strategy_used: z
      .enum(QUERY_STRATEGIES)
      .describe("The strategy that was used: `keyword` if `hybrid` was requested and there are no embeddings."),
    latency_ms: z.int(),
    embedding_ms: z.int().describe("The part of `latency_ms` spent on embedding the query."),
  })
  .meta({ id: "KnowledgeAnswer" });

export type KnowledgeAnswer = Immutable<z.output<typeof knowledgeAnswerSchema>>;
export type KnowledgeResult = KnowledgeAnswer["results"][number];
/** A chunk beside a result, in text order. */
export type Neighbor = NonNullable<KnowledgeResult["neighbors"]>[number];
/** A part of a result's text. */
export type Highlight = NonNullable<KnowledgeResult["highlights"]>[number];
