import { NodeFailure } from "../../domain/runs/failure.ts";
import { INLINE_VALUE_BYTES, MAX_VALUE_BYTES, type BlobRef, type Json, type StoredValue } from "../../domain/json.ts";
import { FetchFailed } from "../fetch/guarded-fetch-errors.ts";
import { credentialsOf, type CredentialConfig } from "../s3/credentials.ts";
import { NoCredentials } from "../s3/role-credentials.ts";
import type { BlobPlace } from "./blob-place.ts";
import { createFileBlobStore } from "./file-store.ts";
import { createS3BlobStore } from "./s3-store.ts";
import { BlobsUnavailable, BlobTooLarge, type BlobRange, type BlobStore, type ObjectStore } from "./types.ts";
import { jsonText } from "../json/json-text.ts";
import { parseJson } from "../json/parse-json.ts";
import { isLong, jsonBytes } from "../json/write-json.ts";
import { wholeOf } from "../whole.ts";

export { createFileBlobStore, DirectoryUnusable } from "./file-store.ts";
export { blobBelongsTo, blobExists } from "./keys.ts";
export type { BlobStore, ObjectStore, StoredBlob } from "./types.ts";
export { BlobNotFound, BlobRangeError, BlobTooLarge } from "./types.ts";

/** What is needed to open a blob store: its location, and the credentials for S3. */
export interface BlobConfig extends CredentialConfig {
  readonly MILLRACE_BLOB_URL: BlobPlace;
}

/** Opens the blob store of the configuration, which is complete (see config.ts). */
export async function openBlobStore(config: BlobConfig): Promise<BlobStore & ObjectStore> {
  const place = config.MILLRACE_BLOB_URL;
  if (place.kind === "file") return createFileBlobStore(place.directory);
  return createS3BlobStore(place, credentialsOf(config, place.region));
}

/** For values whose length has been checked before. */
export const ANY_LENGTH = Number.MAX_SAFE_INTEGER;

/**
 * Converts a value to the form a run carries: inline if its JSON is short, otherwise a reference to the blob store.
 * Throws NodeFailure `value_too_large` above `maxBytes` (such a value fails its node once and is not retried), and
 * `value_too_deep`.
 */
export async function storeValue(
  blobs: BlobStore,
  orgId: string,
  value: Json,
  maxBytes = MAX_VALUE_BYTES,
): Promise<StoredValue> {
  if (isLong(value)) return storeLong(blobs, orgId, value, maxBytes);
  const text = jsonText(value);
  // No character takes more than three bytes of UTF-8 for each of its UTF-16 units: short texts need no counting.
  if (text.length * 3 <= INLINE_VALUE_BYTES) return { v: value };
  if (Buffer.byteLength(text) <= INLINE_VALUE_BYTES) return { v: value };
  return storeReference(blobs, orgId, text);
}

/** Converts a value whose JSON is long to the form a run carries; the JSON is written in slices. */
async function storeLong(blobs: BlobStore, orgId: string, value: Json, maxBytes: number): Promise<StoredValue> {
  try {
    const { key, size } = await blobs.put(orgId, jsonBytes(value), { maxBytes });
    return { ref: { $blob: key, size } };
  } catch (error) {
    if (!(error instanceof BlobTooLarge)) throw error;
    const limit = `${maxBytes / (1024 * 1024)} MiB`;
    throw new NodeFailure("value_too_large", `The value is longer than ${limit} as JSON.`, { cause: error });
  }
}

/**
 * Stores values. They stay inline until their JSON adds up to `maxBytes` (UTF-16 units); from then on the others become references, however
 * short they are. Their own length was checked before.
 */
export function createInlineBudget(
  blobs: BlobStore,
  orgId: string,
  maxBytes: number,
): (value: StoredValue) => Promise<StoredValue> {
  let carried = 0;
  return async (value) => {
    if (!("v" in value)) return value;
    const text = jsonText(value.v);
    if (carried + text.length > maxBytes) return storeReference(blobs, orgId, text);
    carried += text.length;
    return value;
  };
}

/** Puts a value, given as its JSON, into the blob store, however short it is. */
export async function storeReference(
  blobs: BlobStore,
  orgId: string,
  text: string,
): Promise<{ readonly ref: BlobRef }> {
  const { key, size } = await blobs.put(orgId, Buffer.from(text), { maxBytes: ANY_LENGTH });
  return { ref: { $blob: key, size } };
}

/** The bytes of a blob, or of a range of it that the caller has bounded. Throws as `openRead`. */
export async function readPart(blobs: Pick<BlobStore, "openRead">, key: string, range?: BlobRange): Promise<Buffer> {
  const { stream } = await blobs.openRead(key, range);
  return wholeOf(stream);
}

/** Whether an error of a blob store means that the store is unavailable, rather than that the request was wrong. */
export function isBlobOutage(error: unknown): boolean {
  if (error instanceof FetchFailed || error instanceof NoCredentials) return error.retryable;
  return error instanceof BlobsUnavailable;
}

/** The value that a stored value contains or refers to. Throws BlobNotFound if its blob no longer exists. */
export async function loadValue(blobs: BlobStore, stored: StoredValue): Promise<Json> {
  if ("v" in stored) return stored.v;
  const bytes = await blobs.read(stored.ref.$blob, stored.ref.size);
  return (await parseJson(bytes)) as Json;
}
