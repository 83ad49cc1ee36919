import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

// Below the range from which the kernel takes ports for outgoing connections (32768 on Linux), so that no connection takes a port between
// its choice and the start of its server.
const FIRST = 20_000;
const COUNT = 12_000;

/**
 * Chooses a TCP port that nothing listens on: the preferred one if it is free. The port is claimed for this process until it exits, so that
 * two processes that choose at the same time never get the same one.
 */
export async function claimPort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await tryClaim(preferred))) return preferred;
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (!claimed.has(port) && (await tryClaim(port))) return port;
  }
  throw new Error(`No free TCP port found between ${FIRST} and ${FIRST + COUNT} in 200 attempts.`);
}

async function tryClaim(port: number): Promise<boolean> {
  // Already claimed by this process, for a server that is restarted.
  if (!claimed.has(port) && !writeClaim(port)) return false;
  if ((await canListen(port, "127.0.0.1")) && (await canListen(port, "0.0.0.0"))) return true;
  dropClaim(port);
  return false;
}

const claimed = new Set<number>();
const claimFile = (port: number): string => join(tmpdir(), `millrace-ports-${userInfo().uid}`, String(port));

function writeClaim(port: number): boolean {
  const file = claimFile(port);
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
  for (const last of [false, true]) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      if (claimed.size === 0) process.once("exit", () => claimed.forEach(dropClaim));
      claimed.add(port);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (last || isAlive(Number(readFileSync(file, "utf8")))) return false;
      rmSync(file, { force: true });
    }
  }
  return false;
}

function dropClaim(port: number): void {
  claimed.delete(port);
  rmSync(claimFile(port), { force: true });
}

async function canListen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
