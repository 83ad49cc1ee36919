import { hkdfSync, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { AES_GCM_OVERHEAD, decrypt, encrypt } from "../secrets/aes-gcm.ts";
import { PayloadUnreadable, type DataKeys } from "../secrets/payload-cipher.ts";
import { wholeOf } from "../whole.ts";
import { partsOfKey } from "./keys.ts";
import { measuring } from "./measuring.ts";
import { BlobRangeError, BlobTooLarge, type BlobRange, type BlobStore } from "./types.ts";

/** The first bytes of an encrypted blob; a plain blob has them only on purpose. The id of the data key and a salt follow. */
const MAGIC = Buffer.from("c9e1f0a43b7d52864d52424c4f423101", "hex");
const ID_BYTES = 16;
const SALT_BYTES = 16;
const HEAD_BYTES = MAGIC.length + ID_BYTES + SALT_BYTES;
/** Bytes of content that are encrypted together, because a range is read in whole chunks. The last chunk is shorter, and may be empty. */
const CHUNK_BYTES = 64 * 1024;
const OVERHEAD = AES_GCM_OVERHEAD.nonce + AES_GCM_OVERHEAD.tag;
const SEALED_BYTES = CHUNK_BYTES + OVERHEAD;

/** What is needed to read an encrypted blob. */
interface Sealed {
  readonly orgId: string;
  readonly key: Buffer;
  readonly chunks: number;
  /** Length of the decrypted content. */
  readonly size: number;
}

/**
 * Encrypts the content of a store (AES-256-GCM, with a key for each blob that is derived from the data key) if `seals` is set; blobs in
 * clear text stay readable. Sizes and digests are those of the clear text.
 */
export function createSealedStore(inner: BlobStore, keys: DataKeys, { seals }: { readonly seals: boolean }): BlobStore {
  async function headOf(key: string, head: Buffer, stored: number): Promise<Sealed | null> {
    if (head.length < HEAD_BYTES || !head.subarray(0, MAGIC.length).equals(MAGIC)) return null;
    const keyId = uuidOf(head.subarray(MAGIC.length, MAGIC.length + ID_BYTES));
    const dataKey = await keys.find(keyId);
    if (dataKey === undefined)
      throw new PayloadUnreadable(`The blob is encrypted with data key ${keyId}, which does not exist.`);
    if (stored < HEAD_BYTES + OVERHEAD) throw new PayloadUnreadable("The blob is truncated.");
    const chunks = Math.ceil((stored - HEAD_BYTES) / SEALED_BYTES);
    const derived = keyOf(dataKey.key, head.subarray(MAGIC.length + ID_BYTES, HEAD_BYTES));
    return { orgId: orgOf(key), key: derived, chunks, size: stored - HEAD_BYTES - chunks * OVERHEAD };
  }

  /** Reads the header in a separate request, for ranges that do not start at the beginning. */
  async function look(key: string): Promise<{ readonly sealed: Sealed | null; readonly stored: number }> {
    try {
      const { stream, size } = await inner.openRead(key, { start: 0, end: HEAD_BYTES - 1 });
      return { sealed: await headOf(key, await wholeOf(stream), size), stored: size };
    } catch (error) {
      if (error instanceof BlobRangeError) return { sealed: null, stored: error.size };
      throw error;
    }
  }

  return {
    async put(orgId, content, { maxBytes }) {
      if (!seals) return inner.put(orgId, content, { maxBytes });
      const { key_id, key } = await keys.current();
      const salt = randomBytes(SALT_BYTES);
      const { bytes, measured } = measuring(content, maxBytes);
      const sealed = sealing(bytes, orgId, keyOf(key, salt));
      const head = Buffer.concat([MAGIC, Buffer.from(key_id.replaceAll("-", ""), "hex"), salt]);
      const stored = await inner.put(orgId, after(head, sealed), { maxBytes: Number.MAX_SAFE_INTEGER });
      return { key: stored.key, ...measured() };
    },
    async openRead(key, range) {
      const { sealed } = await look(key);
      if (sealed === null) return inner.openRead(key, range);
      const { start, end } = boundsOf(range, sealed.size);
      const [first, last] = [Math.floor(start / CHUNK_BYTES), Math.floor(Math.max(start, end) / CHUNK_BYTES)];
      const bounds = { start: HEAD_BYTES + first * SEALED_BYTES, end: HEAD_BYTES + (last + 1) * SEALED_BYTES - 1 };
      const { stream } = await inner.openRead(key, bounds);
      const clear = opening(stream, sealed, first);
      return { stream: Readable.from(cut(clear, start - first * CHUNK_BYTES, end - start + 1)), size: sealed.size };
    },
    async read(key, maxBytes) {
      const chunks = Math.ceil(maxBytes / CHUNK_BYTES) + 1;
      const bytes = await inner.read(key, maxBytes + HEAD_BYTES + chunks * OVERHEAD);
      const sealed = await headOf(key, bytes, bytes.length);
      if ((sealed?.size ?? bytes.length) > maxBytes) throw new BlobTooLarge(maxBytes);
      if (sealed === null) return bytes;
      return wholeOf(opening([bytes.subarray(HEAD_BYTES)], sealed, 0));
    },
    async size(key) {
      const { sealed, stored } = await look(key);
      return sealed?.size ?? stored;
    },
    delete: (key) => inner.delete(key),
    list: (olderThan) => inner.list(olderThan),
  };
}

function keyOf(dataKey: Buffer, salt: Uint8Array): Buffer {
  return Buffer.from(hkdfSync("sha256", dataKey, salt, "millrace blobs", 32));
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const orgOf = (key: string): string => partsOfKey(key)?.orgId ?? "";
/** What a chunk is bound to, so that it cannot be moved to another position, and no chunk after it can be dropped. */
const contextOf = (orgId: string, at: number, isLast: boolean): string => `blob ${orgId} ${at} ${isLast ? "last" : ""}`;

function boundsOf(range: BlobRange | undefined, size: number): { start: number; end: number } {
  if (range === undefined) return { start: 0, end: size - 1 };
  if (range.start < 0 || range.start >= size) throw new BlobRangeError(size);
  return { start: range.start, end: Math.min(range.end ?? size - 1, size - 1) };
}

async function* after(head: Buffer, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* rest;
}

async function* sealing(content: AsyncIterable<Uint8Array>, orgId: string, key: Buffer): AsyncGenerator<Buffer> {
  let at = 0;
  let held: Buffer | undefined;
  for await (const chunk of chunked(content, CHUNK_BYTES)) {
    if (held) yield encrypt(held, key, contextOf(orgId, at++, false));
    held = chunk;
  }
  yield encrypt(held ?? Buffer.alloc(0), key, contextOf(orgId, at, true));
}

async function* opening(
  stored: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { orgId, key, chunks }: Sealed,
  first: number,
): AsyncGenerator<Buffer> {
  let at = first;
  for await (const chunk of chunked(stored, SEALED_BYTES)) {
    try {
      yield decrypt(chunk, key, contextOf(orgId, at, at === chunks - 1));
    } catch (error) {
      throw new PayloadUnreadable(`The blob was changed, or belongs to another key (${(error as Error).name}).`);
    }
    at += 1;
  }
}

/** Splits bytes into pieces of `length`; the last one is shorter. */
async function* chunked(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  length: number,
): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let held = 0;
  for await (const bytes of content) {
    for (let from = 0; from < bytes.length;) {
      const part = bytes.subarray(from, from + length - held);
      parts.push(part);
      held += part.length;
      from += part.length;
      if (held < length) continue;
      yield Buffer.concat(parts);
      [parts, held] = [[], 0];
    }
  }
  if (held > 0) yield Buffer.concat(parts);
}

/** `length` bytes from `skip` on. */
async function* cut(content: AsyncIterable<Buffer>, skip: number, length: number): AsyncGenerator<Buffer> {
  let [ahead, left] = [skip, length];
  for await (const bytes of content) {
    const part = bytes.subarray(ahead, ahead + left);
    ahead = Math.max(0, ahead - bytes.length);
    left -= part.length;
    if (part.length > 0) yield part;
    if (left <= 0) return;
  }
}
