import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { endStray, identity } from "./processes.ts";

interface Owner {
  readonly pid: number;
  readonly identity: string;
}

interface LockFile extends Owner {
  readonly since: string;
  /** Processes that the owner started and that outlive it when it is killed. */
  readonly children: Readonly<Record<string, Owner>>;
}

/** The lock of a state folder, held by one process at a time. */
export interface StateLock {
  /** Records a child process, so that the next owner can stop it after a kill -9 of this one. */
  note(name: string, pid: number): void;
  /** Kills every recorded child immediately, for a forced stop. */
  killChildren(): void;
  release(): void;
}

/** Thrown when another running process holds the state folder. */
export class StateInUse extends Error {
  readonly pid: number;

  constructor(dir: string, owner: LockFile) {
    super(
      `Millrace is already running in ${dir}: process ${owner.pid}, since ${owner.since}. Stop it first (kill ${owner.pid}).`,
    );
    this.name = "StateInUse";
    this.pid = owner.pid;
  }
}

/**
 * Takes the lock of a state folder. The lock of a process that has exited is taken over, and its remaining child processes are stopped.
 * Throws StateInUse if its owner is still running.
 */
export async function lockState(dir: string, say: (line: string) => void): Promise<StateLock> {
  mkdirSync(dir, { recursive: true });
  const file = join(dir, "lock");
  const mine: LockFile = {
    pid: process.pid,
    identity: identity(process.pid),
    since: new Date().toISOString(),
    children: {},
  };
  for (let unreadable = 0; !create(file, mine);) {
    const other = read(file);
    if (other === undefined) {
      // The lock is being written or was just released, or its owner was killed while writing it.
      if (++unreadable > 40) rmSync(file, { force: true });
      await delay(50);
      continue;
    }
    if (isHeldBy(other)) throw new StateInUse(dir, other);
    await takeOver(file, other, say);
  }
  let current = mine;
  return {
    note(name, pid) {
      current = { ...current, children: { ...current.children, [name]: { pid, identity: identity(pid) } } };
      const fresh = `${file}.${process.pid}`;
      writeFileSync(fresh, JSON.stringify(current));
      renameSync(fresh, file);
    },
    killChildren() {
      for (const child of Object.values(current.children)) if (isHeldBy(child)) process.kill(child.pid, "SIGKILL");
    },
    release: () => rmSync(file, { force: true }),
  };
}

async function takeOver(file: string, stale: LockFile, say: (line: string) => void): Promise<void> {
  say(`The last start (process ${stale.pid}) was not shut down cleanly; cleaning up.`);
  // In the reverse order of their start: api and worker first, the servers they use last.
  for (const [name, child] of Object.entries(stale.children).toReversed()) {
    if (!isHeldBy(child)) continue;
    say(`  stopping its ${name} (process ${child.pid})`);
    await endStray(child.pid, name === "PostgreSQL" ? "SIGINT" : "SIGTERM", 5000);
  }
  // Only if it is unchanged, because a process that takes the lock over at the same time may have written its own by now.
  if (read(file)?.identity === stale.identity) rmSync(file, { force: true });
}

const isHeldBy = (owner: Owner): boolean => owner.identity !== "" && identity(owner.pid) === owner.identity;

function create(file: string, content: LockFile): boolean {
  try {
    writeFileSync(file, JSON.stringify(content), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function read(file: string): LockFile | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as LockFile;
  } catch {
    return undefined;
  }
}
