import { z } from "zod";
import type { GuardedFetch } from "../fetch/guarded-fetch.ts";
import { callModel } from "./model-call.ts";
import type { ModelEndpoint } from "./model-call.ts";
import { EmbeddingError } from "./types.ts";

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
      const read = answerSchema.safeParse(answer);
      const scores = new Map(read.data?.results.map((each) => [each.index, each.relevance_score]));
      return documents.map((_, index) => {
        const score = scores.get(index);
        if (score === undefined) {
          throw new EmbeddingError("malformed", `${new URL(endpoint.url).host} did not return a rank for every text.`);
        }
        return score;
      });
    },
  };
}
