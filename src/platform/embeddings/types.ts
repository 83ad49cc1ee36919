/** Whether a text is a query or a passage: some models treat them differently. */
export type EmbeddingKind = "query" | "passage";

export interface EmbedOptions {
  readonly signal?: AbortSignal;
}

/** Turns texts into vectors. */
export interface Embedder {
  /** Returns one vector per text, in their order, each of length 1. Throws EmbeddingError, or the signal's reason. */
  embed(texts: readonly string[], kind: EmbeddingKind, options?: EmbedOptions): Promise<Float32Array[]>;
}

/** `refused`: the same request will be refused again. `unavailable`: a retry may succeed. `malformed`: the response is invalid. */
export type EmbeddingFailure = "refused" | "unavailable" | "malformed";

/** Thrown when a model could not embed texts or rank results. Its message may be shown. */
export class EmbeddingError extends Error {
  readonly failure: EmbeddingFailure;

  constructor(failure: EmbeddingFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EmbeddingError";
    this.failure = failure;
  }
}
