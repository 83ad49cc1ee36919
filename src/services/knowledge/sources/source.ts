import type { Json } from "../../../domain/json.ts";
import type { PageAnswer, PageVersion } from "../fetch-page.ts";

/** Why a part of a source could not be listed. */
export interface ListFailure {
  readonly address: string;
  readonly code: string;
  readonly message: string;
  /** Set if the failed part cannot be a document, so that no document is missing because of it. */
  readonly hidesNothing?: true;
}

/** One page of a source's listing. */
export interface SourcePage {
  /** URLs of the documents on this page. */
  readonly addresses: readonly string[];
  readonly failures: readonly ListFailure[];
  /** The position of the next page, as JSON of at most a few hundred kB; null at the end. */
  readonly next: Json;
}

/**
 * A source of a knowledge base's documents: a website or a bucket. A sync lists it page by page, stores each page, and
 * can continue from there in any process; then it reads the documents one by one.
 */
export interface KnowledgeSource {
  /**
   * The page at the position that an earlier page named as `next`; null means the first. Errors of the source are
   * listed as failures instead of thrown.
   */
  list(at: Json, signal: AbortSignal): Promise<SourcePage>;
  /** Reads a document; if `known` is given, only if it has changed since. Throws ResourceFailure. */
  read(address: string, known: PageVersion | null, signal: AbortSignal): Promise<PageAnswer>;
}
