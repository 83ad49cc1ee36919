// A file that one process at a time holds. Plain Node: it is used before anything is installed.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Waits for the lock and takes it; answers what releases it. The lock of a process that has ended is taken over. `what` is said of who waits. */
export async function lock(file, what) {
  mkdirSync(dirname(file), { recursive: true });
  for (let waited = 0; ; waited += 200) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owner = Number(existsSync(file) ? readFileSync(file, "utf8") : "");
    if (owner > 0 && !alive(owner)) rmSync(file, { force: true });
    if (waited === 2000) console.error(`waiting for ${what} (process ${owner})`);
    await delay(200);
  }
}

function alive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}
