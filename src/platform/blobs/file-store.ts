import { mkdir, open, readdir, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { uuidv7 } from "uuidv7";
import { isBlobKey, partsOfKey, withKeys } from "./keys.ts";
import { measuring } from "./measuring.ts";
import {
  BlobNotFound,
  BlobRangeError,
  BlobTooLarge,
  type BlobStore,
  type ObjectStore,
  type StoredBlob,
} from "./types.ts";

const TEMPORARY = "tmp";
/** A temporary file without a write for this long belongs to a process that died. */
const STALE_AFTER_MS = 60 * 60 * 1000;

/** Thrown if a directory cannot be made, or its files cannot be seen. */
export class DirectoryUnusable extends Error {
  constructor(directory: string, cause: Error) {
    super(`${directory} cannot be used as a directory: ${cause.message}`);
    this.name = "DirectoryUnusable";
  }
}

/**
 * A blob store in a directory that all processes share (local disk or a network file system with atomic rename).
 * Temporary files left by killed processes are removed when it is created and every hour, until `close`.
 */
export async function createFileBlobStore(
  directory: string,
): Promise<BlobStore & Omit<ObjectStore, "close"> & { close(): void }> {
  return withKeys(await createFileObjects(directory, pathOfKey));
}

/**
 * A store for files of any name; `placeOf` returns the path of a name below the directory, or undefined for an invalid name. With
 * `readOnly` nothing is created or removed there, and nothing can be put.
 */
export async function createFileObjects(
  directory: string,
  placeOf: (name: string) => string | undefined,
  { readOnly = false } = {},
): Promise<Omit<ObjectStore, "close"> & { close(): void }> {
  const root = resolve(directory);
  const temporary = join(root, TEMPORARY);
  if (!readOnly) {
    try {
      await makeDirectory(temporary);
      await removeStale(temporary, hourAgo());
    } catch (error) {
      throw new DirectoryUnusable(root, error as Error);
    }
  }
  const clean = (): void => void removeStale(temporary, hourAgo()).catch(() => undefined);
  const cleaner = readOnly ? undefined : setInterval(clean, STALE_AFTER_MS).unref();

  const pathOf = (name: string): string => {
    const place = placeOf(name);
    if (place === undefined) throw new BlobNotFound();
    return join(root, place);
  };

  const openExisting = async (key: string): Promise<FileHandle> => {
    try {
      return await open(pathOf(key), "r");
    } catch (error) {
      throw isMissing(error) ? new BlobNotFound() : error;
    }
  };

  /** Keys of blobs, one folder at a time. */
  async function* listed(olderThanMs: number): AsyncGenerator<string[]> {
    for (const orgId of await readdir(root)) {
      if (orgId === TEMPORARY) continue;
      for (const folder of await entriesOf(join(root, orgId))) {
        const keys: string[] = [];
        for (const name of await entriesOf(join(root, orgId, folder))) {
          // Another process may remove it in the meantime.
          const found = await stat(join(root, orgId, folder, name)).catch(() => undefined);
          if (found && found.mtimeMs < olderThanMs && isBlobKey(`${orgId}/${name}`)) keys.push(`${orgId}/${name}`);
        }
        if (keys.length > 0) yield keys;
      }
    }
  }

  return {
    async putAs(name, content, { maxBytes }) {
      const path = pathOf(name);
      const draft = join(temporary, uuidv7());
      try {
        const written = await writeDraft(draft, content, maxBytes);
        await publish(root, draft, path);
        return written;
      } catch (error) {
        await unlink(draft).catch(() => undefined);
        throw error;
      }
    },

    async openRead(key, range) {
      const file = await openExisting(key);
      try {
        const { size } = await file.stat();
        if (range !== undefined && (range.start < 0 || range.start >= size)) throw new BlobRangeError(size);
        return { stream: file.createReadStream(range ?? {}), size };
      } catch (error) {
        await file.close();
        throw error;
      }
    },

    async read(key, maxBytes) {
      const file = await openExisting(key);
      try {
        const { size } = await file.stat();
        if (size > maxBytes) throw new BlobTooLarge(maxBytes);
        return await file.readFile();
      } finally {
        await file.close();
      }
    },

    async size(key) {
      try {
        return (await stat(pathOf(key))).size;
      } catch (error) {
        throw isMissing(error) ? new BlobNotFound() : error;
      }
    },

    async delete(key) {
      await unlink(pathOf(key)).catch((error: unknown) => {
        if (!isMissing(error)) throw error;
      });
    },

    list: (olderThan) => listed(olderThan.getTime()),
    keys: () => listed(Infinity),
    removePartial: (olderThan) => removeStale(temporary, olderThan.getTime()),

    close: () => clearInterval(cleaner),
  };
}

/** The last two digits of a UUIDv7 are random, so 256 folders per organisation keep directories short. */
export function pathOfKey(key: string): string | undefined {
  const parts = partsOfKey(key);
  return parts && join(parts.orgId, parts.name.slice(-2), parts.name);
}

async function writeDraft(
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Omit<StoredBlob, "key">> {
  const { bytes, measured } = measuring(content, maxBytes);
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of bytes) await file.appendFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
  return measured();
}

/** A rename is durable only once its directory is: a reference in a history must not outlive what it names. */
async function publish(root: string, draft: string, path: string): Promise<void> {
  const folder = dirname(path);
  const created = await mkdir(folder, { recursive: true });
  await rename(draft, path);
  await syncDirectory(folder);
  if (created !== undefined) {
    await syncDirectory(dirname(folder));
    await syncDirectory(root);
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Node's own recursive mkdir never returns if the parent exists but cannot hold directories, as in /proc. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const parent = dirname(path);
    if (isMissing(error) && parent !== path) {
      await makeDirectory(parent);
      await mkdir(path).catch(requireDirectory(path));
    } else await requireDirectory(path)(error as Error);
  }
}

/** Another process may have created it. */
const requireDirectory =
  (path: string) =>
  async (error: Error): Promise<void> => {
    if (!(await stat(path).catch(() => undefined))?.isDirectory()) throw error;
  };

const hourAgo = (): number => Date.now() - STALE_AFTER_MS;

async function removeStale(temporary: string, oldest: number): Promise<void> {
  for (const name of await readdir(temporary)) {
    const path = join(temporary, name);
    // Another process may remove or complete the file meanwhile.
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await unlink(path).catch(() => undefined);
  }
}

/** The entries of a folder; empty if the path is a file (such as the master key) or missing. */
async function entriesOf(path: string): Promise<string[]> {
  return readdir(path).catch((error: unknown) => {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === "ENOTDIR") return [];
    throw error;
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
