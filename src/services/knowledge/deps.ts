import type { Embedder } from "../../platform/embeddings/types.ts";
import type { Reranker } from "../../platform/embeddings/reranker.ts";
import type { Database, Db } from "../../stores/db.ts";
import type { SearchedIndex } from "../../stores/knowledge/search.ts";
import type { Lexer } from "./lexer.ts";
import type { PostingCache } from "./posting-cache.ts";
import type { VectorCache } from "./vector-cache.ts";

/** Finds the embedding models of organisations. */
export interface EmbedderSource {
  /** The embedder of the model with this name in a knowledge base, or a readable reason why there is none. */
  find(orgId: string, model: string): Promise<{ readonly embedder: Embedder } | { readonly no: string }>;
}

export interface IndexDeps {
  readonly database: Database;
  readonly embedders: EmbedderSource;
  readonly lexer: Lexer;
}

export interface QueryDeps extends IndexDeps {
  readonly vectors: VectorCache;
  readonly postings: PostingCache;
  readonly reranker: Reranker | null;
}

/** One search of an index. */
export interface Search extends QueryDeps {
  readonly orgId: string;
  readonly index: SearchedIndex;
  /** Reads from the database, within the limits of searches. */
  readonly read: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
}
