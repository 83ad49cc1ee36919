import { createHash } from "node:crypto";
import type { BlobPlace } from "../../platform/blobs/blob-place.ts";
import { ANY_LENGTH, type ObjectStore } from "../../platform/blobs/blobs.ts";
import { createFileObjects, pathOfKey } from "../../platform/blobs/file-store.ts";
import { createS3Objects } from "../../platform/blobs/s3-store.ts";
import { credentialsOf, type CredentialConfig } from "../../platform/s3/credentials.ts";
import { isBlobKey } from "../../platform/blobs/keys.ts";

export type BackupFiles = ObjectStore;

/** Bytes of a file as it is stored. */
export interface FileSum {
  readonly bytes: number;
  readonly sha256: string;
}

export const MANIFEST = "manifest.json";
export const BLOB_INDEX = "blobs.jsonl.gz";

export const tableFile = (name: string): string => `tables/${name}.copy.gz`;
/** The path of a blob in a backup, with the same layout as a blob directory. */
export const blobFile = (key: string): string => `blobs/${pathOfKey(key) ?? ""}`;

/** Opens the location of a backup: a directory, or a prefix in a bucket. */
export async function openBackupFiles(
  place: BlobPlace,
  credentials: CredentialConfig,
  { readOnly }: { readonly readOnly: boolean },
): Promise<BackupFiles> {
  return place.kind === "s3"
    ? createS3Objects(place, credentialsOf(credentials, place.region), isName)
    : createFileObjects(place.directory, (name) => (isName(name) ? name : undefined), { readOnly });
}

function isName(name: string): boolean {
  if (name === MANIFEST || name === BLOB_INDEX || /^tables\/[a-z][a-z0-9_]*\.copy\.gz$/.test(name)) return true;
  const [, org, blob] = /^blobs\/([^/]+)\/[^/]{2}\/([^/]+)$/.exec(name) ?? [];
  return isBlobKey(`${org}/${blob}`);
}

/** Stores a file of any length. */
export async function store(
  files: ObjectStore,
  name: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<FileSum> {
  const { size, sha256 } = await files.putAs(name, content, { maxBytes: ANY_LENGTH });
  return { bytes: size, sha256 };
}

/** Forwards bytes and computes their checksum, which is complete once the stream has ended. */
export async function* summed(
  content: AsyncIterable<Uint8Array>,
  sum: { bytes: number; sha256: string },
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const bytes of content) {
    sum.bytes += bytes.length;
    hash.update(bytes);
    yield bytes;
  }
  sum.sha256 = hash.digest("hex");
}

/** Forwards the rows of a table and counts them: each is a line. */
export async function* counted(content: AsyncIterable<Buffer>, count: { rows: number }): AsyncGenerator<Buffer> {
  for await (const bytes of content) {
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) count.rows += 1;
    yield bytes;
  }
}

/** The lines of a stream of text, in batches as they arrive. */
export async function* linesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of content) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length > 0) yield lines;
  }
  if (rest !== "") yield [rest];
}
