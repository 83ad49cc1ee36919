import { z } from "zod";
import type { GuardedFetch } from "../fetch/guarded-fetch.ts";
import { callModel, inOrder, type ModelEndpoint } from "./model-call.ts";

/** Orders texts by their relevance to a query. */
export interface Reranker {
  /** The relevance of each text, in their order. Throws EmbeddingError. */
  rerank(query: string, texts: readonly string[]): Promise<number[]>;
}

const answerSchema = z.object({
  results: z.array(z.object({ index: z.int().min(0), relevance_score: z.number() })),
});

/** A reranker with the interface that Cohere and Jina share: `{model, query, documents}` → `{results: [{index, relevance_score}]}`. */
export function createReranker(fetch: Pick<GuardedFetch, "fetch">, endpoint: ModelEndpoint, model: string): Reranker {
  return {
    async rerank(query, documents) {
      if (documents.length === 0) return [];
      const body = { model, query, documents, top_n: documents.length };
      const answer = await callModel(fetch, endpoint, body, { tries: 2 });
      const { results = [] } = answerSchema.safeParse(answer).data ?? {};
      const scores = results.map((each) => [each.index, each.relevance_score] as const);
      return inOrder(endpoint, scores, documents.length, "a rank for every text");
    },
  };
}
