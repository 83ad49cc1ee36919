import { z } from "zod";
import { QUERY_STRATEGIES } from "../../domain/knowledge/query.ts";

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

/** The response to a query: a KnowledgeAnswer. */
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
