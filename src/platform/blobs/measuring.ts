import { createHash } from "node:crypto";
import { BlobTooLarge, type StoredBlob } from "./types.ts";

/** Content that is counted and hashed while it passes through. It throws BlobTooLarge. */
export function measuring(
  content: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes: number,
): { readonly bytes: AsyncGenerator<Uint8Array>; readonly measured: () => Omit<StoredBlob, "key"> } {
  const hash = createHash("sha256");
  let size = 0;
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const chunk of content instanceof Uint8Array ? [content] : content) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new BlobTooLarge(maxBytes);
      hash.update(chunk);
      yield chunk;
    }
  }
  return { bytes: pass(), measured: () => ({ size, sha256: hash.digest("hex") }) };
}
