import { z } from "zod";
import { knowledgeQuerySchema } from "../../knowledge/query.ts";
import { jsonObjectSchema } from "../../json-schema.ts";
import { liquid, liquidInside, NETWORK_RETRY, ONLY_OUT, remembersNothing, type NodeSpec } from "./spec.ts";

const { query_strategy, top_k, score_threshold, max_chunks_per_resource, neighbors, rerank, include } =
  knowledgeQuerySchema.shape;

export const knowledgeConfig = z.strictObject({
  knowledge_base_id: z.uuid().toLowerCase().describe("The knowledge base that is searched"),
  query: z.string().min(1).describe("Liquid: what is searched for"),
  query_strategy,
  top_k,
  filter: jsonObjectSchema
    .exactOptional()
    .describe("`{and|or|not: [...]}` or `{field, op, value}`; Liquid in every string of it"),
  score_threshold: score_threshold.unwrap().exactOptional(),
  max_chunks_per_resource: max_chunks_per_resource.unwrap().exactOptional(),
  neighbors,
  rerank: rerank.unwrap().exactOptional(),
  include,
});
export type KnowledgeConfig = z.infer<typeof knowledgeConfig>;

export const knowledgeSpec: NodeSpec<KnowledgeConfig> = {
  description: "Searches a knowledge base",
  config: knowledgeConfig,
  execution: () => "activity",
  handles: () => ONLY_OUT,
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
    output: () => ({
      type: "object",
      properties: {
        results: { type: "array", items: { type: "object" } },
        text: { type: "string" },
        citations: { type: "array", items: { type: "object" } },
      },
      required: ["results", "text", "citations"],
    }),
  },
};
