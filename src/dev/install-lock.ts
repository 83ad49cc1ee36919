import { open, readFile, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "./processes.ts";

/** Runs one installation per machine at a time, by a lock file; a process that waited looks first whether another has installed it. */
export async function whileInstalling<T>(lock: string, install: () => Promise<T>): Promise<T> {
  while (!(await takeLock(lock))) await delay(500);
  try {
    return await install();
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const text = await readFile(lock, "utf8").catch(() => "");
    // Empty: its owner is still writing it.
    if (text !== "" && !isAlive(Number(text))) await rm(lock, { force: true });
    return false;
  }
}
