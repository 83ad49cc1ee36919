import { lock } from "../../scripts/lock.mjs";

/**
 * Runs one installation at a time per machine, using a lock file; a process that waited first checks whether another one has installed the
 * files.
 */
export async function whileInstalling<T>(file: string, install: () => Promise<T>): Promise<T> {
  const release = await lock(file, "another installation");
  try {
    return await install();
  } finally {
    release();
  }
}
