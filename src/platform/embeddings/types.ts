/** Whether a text is looked for or is to be found: some models take them differently. */
export type EmbeddingKind = "query" | "passage";

export interface EmbedOptions {
  readonly signal?: AbortSignal;
}

/** Turns texts into vectors. */
export interface Embedder {
  /** One vector a text, in their order, each of length 1. Throws EmbeddingError, or the signal's reason. */
  embed(texts: readonly string[], kind: EmbeddingKind, options?: EmbedOptions): Promise<Float32Array[]>;
}

export const EMBEDDING_FAILURES = ["refused", "unavailable", "malformed"] as const;
/** `refused`: the same request will be refused again. `unavailable`: later it may work. `malformed`: the answer is none. */
export type EmbeddingFailure = (typeof EMBEDDING_FAILURES)[number];

/** Thrown when texts could not be embedded or results not be ranked by a model. Its message may be shown. */
export class EmbeddingError extends Error {
  readonly failure: EmbeddingFailure;

  constructor(failure: EmbeddingFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EmbeddingError";
    this.failure = failure;
  }
}
