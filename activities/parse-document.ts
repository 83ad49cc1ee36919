import { NodeFailure } from "../src/domain/runs/failure.ts";
import type { BlobStore } from "../src/platform/blobs/blobs.ts";
import type { DocumentParser, DocumentSource, ParsedDocument } from "../src/platform/parsing/document-parser.ts";
import { DocumentError } from "../src/platform/parsing/errors.ts";
import type { Parts } from "../src/services/parts.ts";

/** A document whose text an activity needs: loaded bytes (a fetched page), or a blob (an upload). */
export interface DocumentToParse {
  readonly org_id: string;
  readonly content: { readonly bytes: Uint8Array } | { readonly blob: string };
  /** Null for a fetched page, whose declared type says more than its URL. */
  readonly filename: string | null;
  /** The Content-Type declared for the document. */
  readonly declared: string | null;
  /** Whether text in pictures is recognised. */
  readonly ocr?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Reads a document. Throws NodeFailure with the code of DocumentError (`document_broken`, `document_encrypted`,
 * `document_too_large`, `document_timeout`, `document_empty`, `unsupported_type`); other errors are not caused by the
 * document.
 */
export type ParseDocument = (document: DocumentToParse) => Promise<ParsedDocument>;

/** How activities read documents. */
export function createParseDocument(deps: Parts<"blobs"> & { readonly parser: DocumentParser }): ParseDocument {
  return async function parseDocument({ org_id, content, filename, declared, ocr = false, signal }) {
    const source = "bytes" in content ? content : await blobSource(deps.blobs, content.blob);
    try {
      return await deps.parser.parse({ orgId: org_id, source, filename, declared, ocr, signal });
    } catch (error) {
      if (error instanceof DocumentError) throw new NodeFailure(error.code, error.message, { cause: error });
      throw error;
    }
  };
}

/** A stored document. */
export async function blobSource(blobs: BlobStore, key: string): Promise<DocumentSource> {
  return { size: await blobs.size(key), open: async (range) => (await blobs.openRead(key, range)).stream };
}
