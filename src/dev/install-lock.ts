import { lock } from "../../scripts/lock.mjs";

/** Runs one installation per machine at a time, by a lock file; a process that waited looks first whether another has installed it. */
export async function whileInstalling<T>(file: string, install: () => Promise<T>): Promise<T> {
  const release = await lock(file, "another installation");
  try {
    return await install();
  } finally {
    release();
  }
}
