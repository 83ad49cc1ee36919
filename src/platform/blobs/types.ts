import type { Readable } from "node:stream";

/** Thrown when a blob is longer than the caller accepts; no part of it is kept. */
export class BlobTooLarge extends Error {
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`The content is longer than ${maxBytes} bytes.`);
    this.name = "BlobTooLarge";
    this.maxBytes = maxBytes;
  }
}

/** Thrown when no blob has the key, or when the store could not have made the key. */
export class BlobNotFound extends Error {
  constructor() {
    super("No blob has this key.");
    this.name = "BlobNotFound";
  }
}

/** Thrown when the requested range starts after the end of the blob. */
export class BlobRangeError extends Error {
  /** Length of the whole blob, in bytes. */
  readonly size: number;

  constructor(size: number) {
    super(`The range is outside the blob's ${size} bytes.`);
    this.name = "BlobRangeError";
    this.size = size;
  }
}

/** Thrown when the store is temporarily unable to serve a request. The message may be logged. */
export class BlobsUnavailable extends Error {
  override name = "BlobsUnavailable";
}

/** How a stored blob is identified. */
export interface StoredBlob {
  /** `<organisation's uuid>/<uuidv7>`, made by the store. */
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Hex digest of the content. */
  readonly sha256: string;
}

/** Bytes from `start` to `end`, both counted from 0 and inclusive; without `end`, up to the last one. */
export interface BlobRange {
  readonly start: number;
  readonly end?: number;
}

/**
 * The basis of a store: bytes under names that the caller chooses. Throws BlobNotFound for a name that it does not
 * accept.
 */
export interface ObjectStore extends Omit<BlobStore, "put"> {
  /** Stores the content under a name, replacing earlier content; otherwise like `put`. */
  putAs(
    name: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    limits: { readonly maxBytes: number },
  ): Promise<Omit<StoredBlob, "key">>;
  /** The keys of all blobs, in batches. */
  keys(): AsyncIterable<readonly string[]>;
  /** Removes incomplete content of processes that died: uploads started, or last written to, before then. */
  removePartial(olderThan: Date): Promise<void>;
  close(): void | Promise<void>;
}

/** Keeps bytes under keys it makes itself. Every method but `put` throws BlobNotFound for an unknown or malformed key. */
export interface BlobStore {
  /** Stores the content, durably once it resolves. Throws BlobTooLarge, after which (as after any failure) nothing is left. */
  put(
    orgId: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    limits: { readonly maxBytes: number },
  ): Promise<StoredBlob>;
  /** Opens a blob, or a range of it, for streaming; `size` is the length of the whole blob. Throws BlobRangeError. */
  openRead(key: string, range?: BlobRange): Promise<{ stream: Readable; size: number }>;
  /** Reads a whole blob. Throws BlobTooLarge. */
  read(key: string, maxBytes: number): Promise<Buffer>;
  /** Length of a blob, in bytes. */
  size(key: string): Promise<number>;
  /** Removes a blob; succeeds if it is already removed. */
  delete(key: string): Promise<void>;
  /** The keys of blobs that were stored before `olderThan`, in batches of a few thousand at most. */
  list(olderThan: Date): AsyncIterable<readonly string[]>;
}
