import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PACKAGE_ROOT } from "./package-root.ts";
import { startChild, tail } from "./processes.ts";
import type { Part } from "./supervisor.ts";

const START_TIMEOUT_MS = 60_000;
/** Settings that a Node process reads from its environment at start, and cannot change later. */
export const PROCESS_ENVIRONMENT = {
  // Half of libuv's threads resolve names: with its default of 4, two names whose servers do not respond block all others, `localhost` too,
  // for up to 20 s.
  UV_THREADPOOL_SIZE: "32",
  // glibc keeps freed memory in an arena per thread. With two arenas the idle api takes 38 MB less and the worker 75.
  MALLOC_ARENA_MAX: "2",
} as const;

export interface ServicePartOptions {
  readonly name: "api" | "worker";
  readonly env: NodeJS.ProcessEnv;
  /** The URL that returns 200 when the process is ready. */
  readonly readyUrl: string;
  readonly logFile: string;
  /** Grace period when the process is stopped. */
  readonly graceMs: number;
}

/** Starts a compiled api or worker, as in production, and waits until it is ready. */
export async function startServicePart(options: ServicePartOptions): Promise<Part> {
  const { name, env, readyUrl, logFile, graceMs } = options;
  const program = join(PACKAGE_ROOT, `dist/src/${name}-main.js`);
  const child = await startChild({
    command: process.execPath,
    args: ["--enable-source-maps", program],
    env: { ...PROCESS_ENVIRONMENT, ...env },
    logFile,
  });
  const problem = await Promise.race([untilReady(readyUrl, () => child.running()), child.ended]);
  if (problem !== undefined) {
    await child.stop("SIGKILL", 0);
    throw new Error(`The ${name} did not start (${problem}). Its log, ${logFile}, ends:\n${tail(logFile)}`);
  }
  return { pid: child.pid, ended: child.ended, stop: () => child.stop("SIGTERM", graceMs) };
}

async function untilReady(url: string, running: () => boolean): Promise<string | undefined> {
  let last = "nothing listens";
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until && running(); await delay(30)) {
    try {
      const response = await fetch(url);
      if (response.ok) return undefined;
      last = `${url} returned status ${response.status}: ${(await response.text()).slice(0, 300)}`;
    } catch {
      // The server does not listen yet.
    }
  }
  return last;
}
