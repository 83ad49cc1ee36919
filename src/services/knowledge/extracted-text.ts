import type { ChunkedText } from "../../domain/knowledge/chunk.ts";
import type { BlobStore } from "../../platform/blobs/blobs.ts";
import { DOCUMENT_LIMITS } from "../../platform/parsing/limits.ts";

/** A character may take six bytes as JSON, and the positions of pages and headings are stored as well. */
const MAX_STORED_BYTES = 8 * DOCUMENT_LIMITS.textBytes;

/** Stores the text of a resource with the positions of its pages and headings; returns the blob's key. */
export async function storeExtractedText(blobs: BlobStore, orgId: string, text: ChunkedText): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(text));
  return (await blobs.put(orgId, bytes, { maxBytes: MAX_STORED_BYTES })).key;
}

/** Loads a text stored by storeExtractedText. Throws BlobNotFound. */
export async function loadExtractedText(blobs: BlobStore, key: string): Promise<ChunkedText> {
  return JSON.parse((await blobs.read(key, MAX_STORED_BYTES)).toString("utf8")) as ChunkedText;
}
