import { z } from "zod";
import { QUERY_STRATEGIES } from "../../domain/knowledge/query.ts";

const span = z.object({ start: z.int(), end: z.int().describe("The first UTF-16 unit after it.") });

const resultSchema = z
  .object({
    chunk_id: z.uuid(),
    resource_id: z.uuid(),
    resource_path: z.string(),
    source_url: z.string().nullable(),
    text: z.string().nullable(),
    score: z.number().describe("Results are ordered by it: see scores and strategy_used."),
    scores: z
      .object({
        semantic: z.number().nullable().describe("Cosine similarity."),
        keyword: z.number().nullable().describe("BM25."),
        rerank: z.number().nullable().describe("The reranker's own."),
      })
      .describe("Null where the chunk was not among the first of that ranking."),
    rank: z.int().describe("From 1."),
    chunk_index: z.int().describe("Position within the resource, from 0."),
    page_start: z.int().nullable(),
    page_end: z.int().nullable(),
    char_start: z.int().describe("UTF-16 units of the resource's extracted text."),
    char_end: z.int(),
    metadata: z.record(z.string(), z.unknown()).nullable(),
    highlights: z.array(span).nullable().describe("Places of the query's words within text, in UTF-16 units."),
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
      .describe("Only where they were asked for."),
  })
  .meta({ id: "KnowledgeResult" });

/** The answer to a query: a KnowledgeAnswer. */
export const knowledgeAnswerSchema = z
  .object({
    query: z.union([z.string(), z.array(z.string())]),
    results: z.array(resultSchema),
    filter_report: z.object({
      matched_resources: z.int().describe("How many resources the filter lets through; without one, all of them."),
    }),
    strategy_used: z
      .enum(QUERY_STRATEGIES)
      .describe("`keyword` where hybrid was asked for and there are no embeddings to search."),
    latency_ms: z.int(),
    embedding_ms: z.int().describe("The part of latency_ms that embedding the query took."),
  })
  .meta({ id: "KnowledgeAnswer" });
