// A file that one process at a time holds. Plain Node: it is used before anything is installed.
import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Waits for the lock and takes it; answers what releases it. The lock of a process that has ended is taken over. `what` is said of who waits. */
export async function lock(file, what) {
  mkdirSync(dirname(file), { recursive: true });
  // Whose it is, and which time: another time it is another lock, though the process be the same.
  const mine = `${process.pid} ${randomUUID()}`;
  for (let waited = 0; ; waited += 200) {
    if (create(file, mine)) break;
    const held = read(file);
    if (held !== null && !alive(owner(held)) && takeOver(file, held, mine)) break;
    if (waited === 2000) console.error(`waiting for ${what} (process ${owner(held ?? "")})`);
    await delay(200);
  }
  return () => {
    if (read(file) === mine) rmSync(file, { force: true });
  };
}

/** Makes a file with this content, unless there is one. It is never there without its content. */
function create(file, content) {
  const whole = `${file}.${randomUUID()}`;
  writeFileSync(whole, content);
  try {
    linkSync(whole, file);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(whole, { force: true });
  }
}

/**
 * Puts one's own lock in the place of one whose owner has ended. Several may try: who has the right to it looks again whether it is
 * still that lock, so that none removes what another has just taken.
 */
function takeOver(file, held, mine) {
  const right = `${file}.taken-over`;
  if (!create(right, mine)) {
    const other = read(right);
    if (other !== null && !alive(owner(other))) rmSync(right, { force: true });
    return false;
  }
  try {
    if (read(file) !== held) return false;
    const whole = `${file}.${randomUUID()}`;
    writeFileSync(whole, mine);
    renameSync(whole, file);
    return true;
  } finally {
    rmSync(right, { force: true });
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return null;
  }
}

/** 0: of an empty file, whose owner was killed while it wrote. */
function owner(content) {
  return Number.parseInt(content, 10) || 0;
}

function alive(pid) {
  if (pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}
