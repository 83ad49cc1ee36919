import type { Config } from "../../config.ts";
import { LOCAL_EMBEDDING_MODEL } from "../../domain/knowledge/knowledge-base.ts";
import { createEndpointEmbedder } from "../../platform/embeddings/endpoint-embedder.ts";
import { createLocalEmbedder } from "../../platform/embeddings/local-embedder.ts";
import { createReranker } from "../../platform/embeddings/reranker.ts";
import type { Embedder } from "../../platform/embeddings/types.ts";
import { createOwnFetch } from "../../platform/fetch/own-fetch.ts";
import type { GuardedFetch } from "../../platform/fetch/guarded-fetch.ts";
import { readOcrData } from "../../platform/ocr/ocr-data.ts";
import { createNearestSearch } from "../../platform/vectors/nearest.ts";
import type { Database } from "../../stores/db.ts";
import type { EmbedderSource, QueryDeps } from "./deps.ts";
import { createLexer } from "./lexer.ts";
import { createPostingCache } from "./posting-cache.ts";
import { createVectorCache } from "./vector-cache.ts";

export type Knowledge = ReturnType<typeof openKnowledge>;

/** Opens what indexes and queries knowledge bases, by configuration; models and threads start on first use. */
export function openKnowledge(config: Config, database: Database) {
  const local = createLocalEmbedder({ modelDir: config.MILLRACE_EMBEDDING_MODEL_DIR });
  const nearest = createNearestSearch();
  const outbound = createOwnFetch(config.MILLRACE_PRIVATE_HOSTS, [
    config.MILLRACE_EMBEDDINGS_URL,
    config.MILLRACE_RERANK_URL,
  ]);
  const embedders = createEmbedderSource(config, local, outbound);
  const reranker =
    config.MILLRACE_RERANK_URL === undefined
      ? null
      : createReranker(
          outbound,
          { url: config.MILLRACE_RERANK_URL, apiKey: config.MILLRACE_RERANK_API_KEY ?? null },
          config.MILLRACE_RERANK_MODEL,
        );
  const maxBytes = config.MILLRACE_VECTOR_CACHE_MIB * 1024 * 1024;
  const deps: QueryDeps = {
    database,
    embedders,
    vectors: createVectorCache({ database, nearest, maxBytes }),
    postings: createPostingCache(database, maxBytes / 4),
    lexer: createLexer(database),
    reranker,
  };
  return {
    deps,
    /** The embedding model of a new knowledge base: `local` if it can be used, else null (keyword search only). */
    defaultModel: async () => ((await local.problem()) === null ? LOCAL_EMBEDDING_MODEL : null),
    /** Why this process has no character recognition, or null. */
    ocrProblem(): string | null {
      const found = readOcrData(config.MILLRACE_OCR_DATA_DIR);
      return "no" in found ? found.no : null;
    },
    /** Ends the model's process and the threads. */
    async close(): Promise<void> {
      await Promise.all([local.close(), nearest.close(), outbound.close()]);
    },
  };
}

function createEmbedderSource(
  config: Config,
  local: ReturnType<typeof createLocalEmbedder>,
  fetch: GuardedFetch,
): EmbedderSource {
  const url = config.MILLRACE_EMBEDDINGS_URL;
  // One embedder per model, so that all organisations share its limits.
  const byModel = new Map<string, Embedder>();
  return {
    async find(_orgId, model) {
      if (model === LOCAL_EMBEDDING_MODEL) {
        const problem = await local.problem();
        return problem === null ? { embedder: local } : { no: problem };
      }
      if (url === undefined) {
        return { no: `The embedding model ${JSON.stringify(model)} needs an endpoint: set MILLRACE_EMBEDDINGS_URL.` };
      }
      let embedder = byModel.get(model);
      if (embedder === undefined) {
        const endpoint = { url, apiKey: config.MILLRACE_EMBEDDINGS_API_KEY ?? null };
        const requestsPerMinute = config.MILLRACE_EMBEDDINGS_PER_MINUTE;
        embedder = createEndpointEmbedder(fetch, endpoint, { model, requestsPerMinute });
        byModel.set(model, embedder);
      }
      return { embedder };
    },
  };
}
