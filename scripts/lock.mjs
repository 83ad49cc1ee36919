// A lock that one process at a time holds: a file. Plain Node, because it is used before anything is installed.
import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Waits for the lock, takes it, and returns a function that releases it. Takes over the lock of a process that has ended.
 * `what` names what the process waits for, in its message.
 */
export async function lock(file, what) {
  mkdirSync(dirname(file), { recursive: true });
  // The process that holds it, and an id: one process may take the lock several times.
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

/** Makes a file with this content, unless there is one. Nobody sees it without its content. */
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
 * Replaces the lock `held`, whose owner has ended, by `mine`. Several processes may try: a second file lets one at a time do it,
 * who first looks whether the lock is still `held`, so that nobody removes the lock that another has just taken.
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

/** The process that holds a lock; 0 for an empty file, whose owner was killed while it wrote. */
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
