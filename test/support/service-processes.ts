import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { claimPort } from "../../src/dev/ports.ts";
import { identity, startChild, tail, type Child } from "../../src/dev/processes.ts";
import { PROCESS_ENVIRONMENT } from "../../src/dev/service-part.ts";
import { METRICS_TOKEN } from "./metrics.ts";

const START_TIMEOUT_MS = 60_000;
const built = fileURLToPath(new URL("../../dist", import.meta.url));

export interface ServiceProcess {
  readonly kind: "api" | "worker";
  /** URL of its HTTP server: the API, or the worker's /healthz and /metrics. It stays the same across restarts. */
  readonly url: string;
  /** ID of the current process. */
  pid(): number;
  running(): boolean;
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>;
  /** Sends SIGTERM, as an orchestrator would; resolves with "exit code 0" or similar. */
  terminate(graceMs?: number): Promise<string>;
  /** Sends any signal without waiting, for example SIGSTOP and SIGCONT. */
  signal(signal: NodeJS.Signals): void;
  /** Stops the process if it runs, starts it on the same port, and waits until it is ready. */
  restart(): Promise<void>;
  /** The output of the process, over all restarts. */
  logs(): string;
}

/** Starts an API or worker process of the compiled code in `dist` and waits until it reports that it is ready. */
export async function startServiceProcess(
  kind: "api" | "worker",
  env: Record<string, string>,
  stateDir: string,
  dist = built,
): Promise<ServiceProcess> {
  const port = await claimPort();
  const logFile = join(stateDir, "logs", `${kind}-${port}.log`);
  const environment = {
    PATH: process.env["PATH"],
    NODE_ENV: "test",
    HOST: "127.0.0.1",
    ...PROCESS_ENVIRONMENT,
    MILLRACE_METRICS_TOKEN: METRICS_TOKEN,
    ...(kind === "api" ? { PORT: String(port) } : { MILLRACE_WORKER_PORT: String(port) }),
    ...env,
  };
  const url = `http://127.0.0.1:${port}`;

  async function start(): Promise<Child> {
    const started = await startChild({
      command: process.execPath,
      args: [join(dist, "src", `${kind}-main.js`)],
      env: environment,
      logFile,
    });
    recordPid(stateDir, started.pid);
    const problem = await Promise.race([untilReady(`${url}/${kind === "api" ? "readyz" : "healthz"}`), started.ended]);
    if (problem === undefined) return started;
    await started.stop("SIGKILL", 0);
    throw new Error(`The ${kind} process did not become ready (${problem}). The end of its log:\n${tail(logFile, 30)}`);
  }

  let child = await start();
  return {
    kind,
    url,
    pid: () => child.pid,
    running: () => child.running(),
    kill: () => child.stop("SIGKILL", 0),
    async terminate(graceMs = 20_000) {
      await child.stop("SIGTERM", graceMs);
      return child.ended;
    },
    signal: (signal) => void process.kill(child.pid, signal),
    async restart() {
      await child.stop("SIGKILL", 0);
      child = await start();
    },
    logs: () => readFileSync(logFile, "utf8"),
  };
}

async function untilReady(url: string): Promise<string | undefined> {
  let last = "no answer";
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until; await delay(30)) {
    try {
      const response = await fetch(url);
      if (response.ok) return undefined;
      last = `${response.status} ${await response.text()}`;
    } catch {
      // The process does not listen yet.
    }
  }
  return `${url}: ${last}`;
}

/** Records a process, so that the end of the test run can kill what a test file or a killed vitest left behind. */
export function recordPid(stateDir: string, pid: number): void {
  mkdirSync(join(stateDir, "pids"), { recursive: true });
  writeFileSync(join(stateDir, "pids", String(pid)), identity(pid));
}

/** Kills a recorded process if its ID still belongs to the same process. */
export function endRecorded(stateDir: string, pid: number): void {
  const recorded = readFileSync(join(stateDir, "pids", String(pid)), "utf8");
  if (recorded !== "" && identity(pid) === recorded) process.kill(pid, "SIGKILL");
}
