import type { Json } from "../../../domain/json.ts";
import type { PageAnswer, PageVersion } from "../fetch-page.ts";

/** Why something of a source could not be listed. */
export interface ListFailure {
  readonly address: string;
  readonly code: string;
  readonly message: string;
  /** Nothing that it is about could ever be a document, so none is missing because of it. */
  readonly hidesNothing?: true;
}

/** A part of what a source lists. */
export interface SourcePage {
  /** Addresses of its documents. */
  readonly addresses: readonly string[];
  readonly failures: readonly ListFailure[];
  /** Where to continue, as JSON of a few hundred kB at most; null at the end. */
  readonly next: Json;
}

/**
 * Where documents of a knowledge base come from: a website, a bucket. A sync lists it page by page, stores each page,
 * and can continue from there in any process; then it reads the documents one by one.
 */
export interface KnowledgeSource {
  /**
   * The page at a place that an earlier page named as `next`; null means the first. What the source is at fault for
   * is among the failures.
   */
  list(at: Json, signal: AbortSignal): Promise<SourcePage>;
  /** Reads a document; if `known` is given, only if it has changed since. Throws ResourceFailure. */
  read(address: string, known: PageVersion | null, signal: AbortSignal): Promise<PageAnswer>;
}
