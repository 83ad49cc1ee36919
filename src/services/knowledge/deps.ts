import type { Embedder } from "../../platform/embeddings/types.ts";
import type { Reranker } from "../../platform/embeddings/reranker.ts";
import type { Database } from "../../stores/db.ts";
import type { Lexer } from "./lexer.ts";
import type { PostingCache } from "./posting-cache.ts";
import type { VectorCache } from "./vector-cache.ts";

/** Where the embedding models of organisations come from. */
export interface EmbedderSource {
  /** The embedder of the model with this name in a knowledge base, or the reason (for people) why there is none. */
  find(orgId: string, model: string): Promise<{ readonly embedder: Embedder } | { readonly no: string }>;
}

/** What indexing of knowledge bases needs. */
export interface IndexDeps {
  readonly database: Database;
  readonly embedders: EmbedderSource;
}

/** What queries of knowledge bases need. */
export interface QueryDeps extends IndexDeps {
  readonly vectors: VectorCache;
  readonly postings: PostingCache;
  readonly lexer: Lexer;
  readonly reranker: Reranker | null;
}
