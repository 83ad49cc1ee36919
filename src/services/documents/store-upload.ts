import { Problem, invalid, tooLarge } from "../../domain/errors.ts";
import { mediaType, type MediaKind } from "../../domain/media/media.ts";
import { BlobTooLarge, type BlobStore, type StoredBlob } from "../../platform/blobs/blobs.ts";
import { charsetIn } from "../../platform/parsing/decode-text.ts";
import {
  MIME_PROBE_BYTES,
  SUPPORTED_MIME_TYPES,
  detectMime,
  isImageMime,
  isSupportedMime,
} from "../../platform/parsing/mime.ts";

/** A file as a client sends it. */
export interface UploadedFile {
  /** The client's name for the file; never used as a path. */
  readonly filename: string;
  /** The content type that the client declares. */
  readonly declaredType: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/** A stored upload with its detected properties. */
export interface StoredUpload extends StoredBlob {
  readonly filename: string;
  readonly mime_type: string;
  /** As the client declared it; null if it declared none. */
  readonly charset: string | null;
}

/** What may be uploaded. */
export interface UploadRules {
  readonly maxBytes: number;
  /** Types, or `image/*`; undefined: all readable types. */
  readonly accept?: readonly string[] | undefined;
  /** Whether pictures are read (by character recognition). Default false. */
  readonly images?: boolean;
  /** The accepted types of a node that takes only recordings or pictures. */
  readonly media?: { readonly kind: MediaKind; readonly types: readonly string[] } | undefined;
}

/**
 * Streams an upload into the blob store. Its first bytes and its name decide its type before anything is stored.
 * Throws 413, 415 for a type that cannot be read or that `accept` does not name, and 422 for an empty file; nothing is
 * left behind then.
 */
export async function storeUpload(
  blobs: BlobStore,
  orgId: string,
  { filename, declaredType, content }: UploadedFile,
  { maxBytes, accept, images = false, media }: UploadRules,
): Promise<StoredUpload> {
  const chunks = content[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let size = 0;
  while (size < MIME_PROBE_BYTES) {
    const { value, done } = await chunks.next();
    if (done) break;
    head.push(value);
    size += value.byteLength;
  }
  if (size === 0) throw invalid(["body", "file"], "The file is empty", "too_short");
  const mime_type = media
    ? requireMedia(media, Buffer.concat(head))
    : detectMime(filename, declaredType, Buffer.concat(head));
  if (!media) requireType(mime_type, accept, images);

  async function* whole(): AsyncGenerator<Uint8Array, void> {
    yield* head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  try {
    const stored = await blobs.put(orgId, whole(), { maxBytes });
    return { ...stored, filename, mime_type, charset: charsetIn(declaredType) };
  } catch (error) {
    throw error instanceof BlobTooLarge ? tooLarge("file", maxBytes) : error;
  }
}

function requireMedia({ kind, types }: NonNullable<UploadRules["media"]>, head: Uint8Array): string {
  const type = mediaType(kind, head);
  if (type !== null && types.includes(type)) return type;
  const message = `This node accepts ${types.join(", ")}; the file's content has another type.`;
  throw new Problem("unsupported_media_type", message);
}

function requireType(mime: string, accept: readonly string[] | undefined, images: boolean): void {
  if (!isSupportedMime(mime) && !(images && isImageMime(mime))) {
    throw new Problem(
      "unsupported_media_type",
      `Documents of type ${mime} are not supported. Supported types: ${SUPPORTED_MIME_TYPES.join(", ")}.`,
    );
  }
  const accepted = accept?.some((wanted) => {
    const type = wanted.toLowerCase();
    return type === mime || (type.endsWith("/*") && mime.startsWith(type.slice(0, -1)));
  });
  if (accepted === false) {
    throw new Problem("unsupported_media_type", `The document node accepts ${accept?.join(", ")}, not ${mime}.`);
  }
}
