import { z } from "zod";
import { knowledgeQuerySchema } from "../../knowledge/query.ts";
import { jsonObjectSchema, objectSchema } from "../../json-schema.ts";
import { defineNode, liquid, liquidInside, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const { query_strategy, keyword_weight, top_k, score_threshold, max_chunks_per_resource, neighbors, rerank, include } =
  knowledgeQuerySchema.shape;

const config = z.strictObject({
  knowledge_base_id: z.uuid().toLowerCase().describe("ID of the knowledge base to search"),
  query: z.string().min(1).describe("Liquid template of the search query"),
  query_strategy,
  keyword_weight: keyword_weight.unwrap().exactOptional(),
  top_k,
  filter: jsonObjectSchema
    .exactOptional()
    .describe("`{and|or|not: [...]}` or `{field, op, value}`; Liquid in every string"),
  score_threshold: score_threshold.unwrap().exactOptional(),
  max_chunks_per_resource: max_chunks_per_resource.unwrap().exactOptional(),
  neighbors,
  rerank: rerank.unwrap().exactOptional(),
  include,
});
export type KnowledgeConfig = z.infer<typeof config>;

export const knowledgeSpec = defineNode({
  title: "Knowledge search",
  group: "models",
  icon: "search",
  description: "Searches a knowledge base",
  example: { knowledge_base_id: "0197f0a0-5e1f-7000-8000-000000000000", query: "{{ in-0 }}", top_k: 5 },
  advanced: ["keyword_weight", "score_threshold", "max_chunks_per_resource", "neighbors", "rerank", "include"],
  config,
  execution: () => "activity",
  expressions: ({ query, filter }) => [
    liquid(query, "query"),
    ...(filter === undefined ? [] : liquidInside(filter, "filter")),
  ],
  outputMember: () => "text",
  references: ({ knowledge_base_id }) => [
    { kind: "knowledge_base", id: knowledge_base_id, path: ["knowledge_base_id"] },
  ],
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 60_000,
  io: {
    output: () =>
      objectSchema({
        results: { type: "array", items: { type: "object" } },
        text: { type: "string" },
        citations: { type: "array", items: { type: "object" } },
      }),
  },
});
