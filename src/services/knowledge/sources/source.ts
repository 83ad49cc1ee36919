import type { Json } from "../../../domain/json.ts";
import type { PageAnswer, PageVersion } from "../fetch-page.ts";

/** Why something of a source could not be listed. */
export interface ListFailure {
  readonly address: string;
  readonly code: string;
  readonly message: string;
}

/** A part of what a source lists. */
export interface SourcePage {
  /** Addresses of its documents. */
  readonly addresses: readonly string[];
  readonly failures: readonly ListFailure[];
  /** Where to go on, as JSON of a few hundred kB at most; null at the end. */
  readonly next: Json;
}

/**
 * Where documents of a knowledge base come from and are read again: a website, a bucket. A sync lists it page by page, keeps
 * each page, and goes on from there in whichever process; then it reads the documents one by one.
 */
export interface KnowledgeSource {
  /** The page at a place that an earlier page named as `next`; the first one at null. Rejects only where waiting may help. */
  list(at: Json, signal: AbortSignal): Promise<SourcePage>;
  /** Reads a document, where `known` is given only if it has changed since. Throws ResourceFailure. */
  read(address: string, known: PageVersion | null, signal: AbortSignal): Promise<PageAnswer>;
}
