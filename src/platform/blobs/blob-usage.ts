import { opendir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";

/** The bytes that a blob store uses, and what its file system has left. */
export interface BlobUsage {
  /** `null` until the files have been counted for the first time. */
  readonly used: number | null;
  readonly free: number;
}

/** A new count starts when 100 times the duration of the last count has passed, so counting takes at most a hundredth of the time. */
const PAUSE_FACTOR = 100;
const MIN_PAUSE_MS = 60_000;

/**
 * Reads how much a directory of blobs holds. The file system is asked each time. The files are counted in the background, rarely, and the
 * previous count is returned until a new one is complete.
 */
export function createBlobUsage(directory: string): () => Promise<BlobUsage> {
  let used: number | null = null;
  let counting = false;
  let next = 0;

  async function count(): Promise<void> {
    counting = true;
    const begin = Date.now();
    try {
      used = await bytesBelow(directory);
    } catch {
      used = null;
    } finally {
      counting = false;
      next = Date.now() + Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (Date.now() - begin));
    }
  }

  return async () => {
    if (!counting && Date.now() >= next) void count();
    const { bavail, bsize } = await statfs(directory);
    return { used, free: bavail * bsize };
  };
}

async function bytesBelow(directory: string): Promise<number> {
  let sum = 0;
  for await (const entry of await opendir(directory)) {
    const path = join(directory, entry.name);
    // A file removed during the count has no size.
    if (entry.isDirectory()) sum += await bytesBelow(path).catch(() => 0);
    else
      sum += await stat(path).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return sum;
}
