import { chmod, mkdir, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Connection } from "@temporalio/client";
import { claimPort } from "./ports.ts";
import { startChild, tail } from "./processes.ts";
import type { Part } from "./supervisor.ts";

const START_TIMEOUT_MS = 60_000;
const DATABASE = "temporal.db";

// The development server has one history shard, whose queue readers poll 20 times a second by default: three consecutive activities then
// take 350 ms instead of 100.
const DYNAMIC_CONFIG = [
  ...["transfer", "timer", "visibility"].map((queue) => `history.${queue}ProcessorMaxPollRPS=2000`),
  // Urgent work goes first, and organisations take turns: see docs/operation.md.
  "matching.useNewMatcher=true",
  "matching.enableFairness=true",
  // Deleting a history waits until the queues have recorded their position, by default half a minute.
  ...["transfer", "visibility"].map((queue) => `history.${queue}ProcessorUpdateAckInterval="1s"`),
];

// Safe against kill -9, not against power loss; more than twice the throughput of the default settings.
const SQLITE_PRAGMAS = ["journal_mode=wal", "synchronous=1"];

export interface TemporalOptions {
  /** The `temporal` program; see findTemporal. */
  readonly binary: string;
  /** Folder of the server's database and log; created if missing. */
  readonly dir: string;
  /** Preferred port of the frontend. */
  readonly port?: number;
  /** Preferred port of the web interface; null serves none. */
  readonly uiPort?: number | null;
  /** `key=value` settings, replacing the ones Millrace needs. */
  readonly dynamicConfig?: readonly string[];
}

export interface RunningTemporal extends Part {
  /** host:port of the frontend. */
  readonly address: string;
  /** URL of the web interface, if there is one. */
  readonly ui: string | null;
  readonly port: number;
  readonly uiPort: number | null;
}

/** Starts the development server with a database in `dir` and resolves when it responds. */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const dir = resolve(options.dir);
  await mkdir(dir, { recursive: true });
  const logFile = join(dir, "temporal.log");
  const port = await claimPort(options.port);
  const uiPort = options.uiPort === null ? null : await claimPort(options.uiPort);
  const args = [
    "server",
    "start-dev",
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--db-filename",
    join(dir, DATABASE),
  ];
  args.push(...(uiPort === null ? ["--headless"] : ["--ui-port", String(uiPort)]), "--log-level", "warn");
  for (const value of options.dynamicConfig ?? DYNAMIC_CONFIG) args.push("--dynamic-config-value", value);
  for (const value of SQLITE_PRAGMAS) args.push("--sqlite-pragma", value);
  await closeToOthers(dir);
  // The database contains inputs of runs, so only its owner may read the files that it creates.
  const command = ["-c", 'umask 077; exec "$0" "$@"', options.binary, ...args];
  const child = await startChild({ command: "sh", args: command, env: process.env, logFile });
  const address = `127.0.0.1:${port}`;
  const problem = await Promise.race([untilTemporalAnswers(address, START_TIMEOUT_MS), child.ended]);
  if (problem !== undefined) {
    await child.stop("SIGINT", 2000);
    throw new Error(`The Temporal server did not start (${problem}). Its log, ${logFile}, ends:\n${tail(logFile)}`);
  }
  const watch = whenStuck(address, () => void child.stop("SIGKILL", 0));
  void child.ended.then(watch.close);
  return {
    address,
    ui: uiPort === null ? null : `http://127.0.0.1:${uiPort}`,
    port,
    uiPort,
    pid: child.pid,
    ended: child.ended,
    stop: () => child.stop("SIGINT", 10_000),
  };
}

/** Makes an existing database private; SQLite's other files get their modes from it. */
async function closeToOthers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) if (name.startsWith(DATABASE)) await chmod(join(dir, name), 0o600);
}

/** Interval of health checks, and consecutive failures after which the server counts as stuck. */
const WATCH_MS = 1000;
const STUCK_AFTER = 3;

/**
 * Calls `onStuck` when the development server can no longer use its own database: a caller that disconnects during a call (kill -9 of a
 * worker is enough) can leave its only SQLite connection interrupted permanently, and from then on every call fails with "interrupted (9)".
 * A restart repairs it without loss.
 */
function whenStuck(address: string, onStuck: () => void): { close(): void } {
  // Without interceptors the client never retries, not even if its connection was closed.
  const connection = Connection.lazy({ address, interceptors: [] });
  let inARow = 0;
  let closed = false;
  let looking: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const later = (): void => {
    timer = setTimeout(() => (looking = look()), WATCH_MS).unref();
  };
  const look = async (): Promise<void> => {
    try {
      await connection.withDeadline(Date.now() + 5000, () =>
        connection.workflowService.describeNamespace({ namespace: "default" }),
      );
      inARow = 0;
    } catch (error) {
      // Any other error (of a suspended or starting server, for example) is temporary.
      inARow = error instanceof Error && error.message.includes("interrupted (9)") ? inARow + 1 : 0;
    }
    if (closed) return;
    if (inARow >= STUCK_AFTER) onStuck();
    else later();
  };
  later();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      void looking.then(() => connection.close());
    },
  };
}

/** Waits until the server at `address` serves its `default` namespace. Returns the last error on time-out. */
export async function untilTemporalAnswers(address: string, timeoutMs: number): Promise<string | undefined> {
  const until = Date.now() + timeoutMs;
  // The port is checked first, because a gRPC channel that was refused waits a second before it tries to connect again.
  while (!(await accepts(address))) {
    if (Date.now() > until) return `nothing listens on ${address}`;
    await delay(25);
  }
  for (;;) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: Math.max(1000, until - Date.now()) });
      try {
        await connection.workflowService.describeNamespace({ namespace: "default" });
      } finally {
        await connection.close();
      }
      return undefined;
    } catch (error) {
      if (Date.now() > until) return error instanceof Error ? error.message : String(error);
      await delay(50);
    }
  }
}

async function accepts(address: string): Promise<boolean> {
  const colon = address.lastIndexOf(":");
  const target = { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
  return new Promise((done) => {
    const socket = connect({ ...target, timeout: 2000 });
    const finish = (answer: boolean) => (): void => {
      socket.destroy();
      done(answer);
    };
    socket.once("connect", finish(true)).once("error", finish(false)).once("timeout", finish(false));
  });
}
