import type { Embedder } from "../../platform/embeddings/types.ts";
import type { Reranker } from "../../platform/embeddings/reranker.ts";
import type { Database } from "../../stores/db.ts";
import type { Lexer } from "./lexer.ts";
import type { PostingCache } from "./posting-cache.ts";
import type { VectorCache } from "./vector-cache.ts";

/** Where the embedding models of organisations come from. */
export interface EmbedderSource {
  /** The embedder of a model by the name that a knowledge base gives it, or why there is none (for people). */
  find(orgId: string, model: string): Promise<{ readonly embedder: Embedder } | { readonly no: string }>;
}

/** What knowledge bases are indexed with. */
export interface IndexDeps {
  readonly database: Database;
  readonly embedders: EmbedderSource;
}

/** What knowledge bases are queried with. */
export interface QueryDeps extends IndexDeps {
  readonly vectors: VectorCache;
  readonly postings: PostingCache;
  readonly lexer: Lexer;
  readonly reranker: Reranker | null;
}
