import { once } from "node:events";
import { pipeline } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { blobExists, BlobNotFound, type ObjectStore } from "../../platform/blobs/blobs.ts";
import { createLimit } from "../../platform/at-once.ts";
import { withSnapshot, type Snapshot } from "../../stores/backup/backup.ts";
import {
  BLOB_INDEX,
  blobFile,
  counted,
  linesOf,
  MANIFEST,
  store,
  tableFile,
  type BackupFiles,
  type FileSum,
} from "./files.ts";
import { BackupRefused, FORMAT, type Manifest } from "./manifest.ts";

/** Blobs copied concurrently, since each copy mostly waits for the disk or S3. */
const AT_ONCE = 16;
/** Fast compression, because a better one would take most of a backup's time. */
const FAST = { level: constants.Z_BEST_SPEED };

export interface BackupSource {
  readonly url: string;
  /** The blobs as stored; encrypted blobs stay encrypted. */
  readonly blobs: ObjectStore;
  /** The version of the program. */
  readonly version: string;
}

/**
 * Copies an installation in use: first the tables as of one moment, then all blobs. Blobs never change, so the blobs
 * that the tables refer to are still there. The manifest names the ones that were deleted meanwhile.
 */
export async function takeBackup({ url, blobs, version }: BackupSource, files: BackupFiles): Promise<Manifest> {
  const started = new Date();
  if (await blobExists(files, MANIFEST))
    throw new BackupRefused("A backup already exists here: choose another location.");
  const { referred, ...database } = await withSnapshot(url, (snapshot) => copyTables(snapshot, files));
  const copied = await copyBlobs(blobs, files, referred);
  if (copied.count === 0 && referred.size > 0)
    throw new BackupRefused(
      "The database refers to blobs, but MILLRACE_BLOB_URL contains none of them: set it to the same value as for the api and the workers.",
    );
  // Removes partial files of earlier attempts. A location that forbids listing keeps them, which does no harm.
  await files.removePartial(started).catch(() => undefined);
  const manifest: Manifest = {
    format: FORMAT,
    millrace: version,
    ...database,
    finished_at: new Date().toISOString(),
    blobs: { ...copied, missing: [...referred].toSorted() },
  };
  await store(files, MANIFEST, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  return manifest;
}

async function copyTables(snapshot: Snapshot, files: BackupFiles) {
  const { server, taken_at, migrations, sequences, master_keys } = snapshot;
  const tables: Manifest["tables"] = [];
  for (const table of snapshot.tables) {
    const count = { rows: 0 };
    const sum = await store(
      files,
      tableFile(table.name),
      pipeline(counted(snapshot.rows(table), count), createGzip(FAST), () => undefined),
    );
    tables.push({ name: table.name, columns: [...table.columns], ...count, ...sum });
  }
  const referred = new Set<string>();
  for await (const keys of linesOf(snapshot.blobKeys())) for (const key of keys) referred.add(key);
  return {
    postgres: server,
    taken_at,
    migrations: [...migrations],
    sequences: { ...sequences },
    master_keys: [...master_keys],
    tables,
    referred,
  };
}

/** Copies all blobs, and removes each copied one from `referred`. */
async function copyBlobs(
  blobs: ObjectStore,
  files: BackupFiles,
  referred: Set<string>,
): Promise<FileSum & { count: number; total_bytes: number }> {
  const index = createGzip(FAST);
  const written = store(files, BLOB_INDEX, index);
  // Prevents an unhandled rejection; the error is thrown below, where `written` is awaited.
  written.catch(() => undefined);
  const limit = createLimit(AT_ONCE);
  let [count, total_bytes] = [0, 0];
  const copy = async (key: string): Promise<void> => {
    const sum = await copyBlob(blobs, files, key);
    if (sum === undefined) return;
    referred.delete(key);
    count += 1;
    total_bytes += sum.bytes;
    index.write(`${JSON.stringify({ key, size: sum.bytes, sha256: sum.sha256 })}\n`);
  };
  try {
    for await (const keys of blobs.keys()) {
      await Promise.all(keys.map((key) => limit(() => copy(key))));
      // `written` ends the wait if the list cannot be written, because then no drain event comes.
      if (index.writableNeedDrain) await Promise.race([once(index, "drain"), written]);
    }
    index.end();
  } catch (error) {
    index.destroy(error as Error);
    throw error;
  }
  return { count, total_bytes, ...(await written) };
}

/** Undefined if the blob was deleted since it was listed. */
async function copyBlob(blobs: ObjectStore, files: BackupFiles, key: string): Promise<FileSum | undefined> {
  try {
    return await store(files, blobFile(key), (await blobs.openRead(key)).stream);
  } catch (error) {
    if (error instanceof BlobNotFound) return undefined;
    throw error;
  }
}
