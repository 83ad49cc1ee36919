import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client as Postgres } from "pg";
import { inject } from "vitest";
import { startPostgres } from "../../src/dev/postgres.ts";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { startTemporal } from "../../src/dev/temporal.ts";
import { recordPid } from "../support/service-processes.ts";
import { startService, type OwnService, type ServiceOptions } from "../support/service.ts";
import { makeTemplate } from "../support/template.ts";

let installations = 0;

/** A Postgres or Temporal server that can be killed and restarted with the same data and port. */
export interface KillableServer {
  pid(): number;
  running(): boolean;
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>;
  /** Starts the server again; resolves when it responds. */
  restart(): Promise<void>;
  /** Suspends or resumes all processes of the server: connections stay open without responses, as in a network partition. */
  freeze(frozen: boolean): void;
}

/** A complete installation for one test, so that killing its parts affects no other test. */
export interface Installation extends OwnService {
  readonly postgres: KillableServer;
  /** The folder of Temporal's database. */
  readonly temporal: KillableServer & { readonly dir: string };
  /** Rows of a statement in the installation's database, without row-level security. */
  sql<Row>(statement: string, values?: readonly unknown[]): Promise<Row[]>;
}

interface Running {
  readonly pid: number;
  readonly port: number;
  readonly ended: Promise<string>;
}

/** Starts a new installation, which takes about five seconds. */
export async function install(options: ServiceOptions = {}): Promise<Installation> {
  const shared = inject("millrace");
  const stateDir = join(shared.stateDir, `installation-${process.pid}-${++installations}`);
  mkdirSync(stateDir, { recursive: true });
  // Under root, Postgres runs as another user, who must be able to traverse this folder.
  chmodSync(stateDir, 0o711);
  const binary = await findTemporal({ say: () => undefined });
  const temporalDir = join(stateDir, "temporal");
  let url = "";
  const [postgres, temporal] = await Promise.all([
    killable(shared.stateDir, async (port) => {
      const running = await startPostgres({ dir: join(stateDir, "postgres"), durable: false, ...port });
      ({ url } = running);
      return running;
    }),
    killable(shared.stateDir, (port) => startTemporal({ binary, dir: temporalDir, uiPort: null, ...port })),
  ]);
  const service = await startService(options, {
    ...(await makeTemplate(url)),
    temporalAddress: `127.0.0.1:${temporal.port}`,
    stateDir: shared.stateDir,
  });
  return {
    ...service,
    postgres,
    temporal: { ...temporal, dir: temporalDir },
    async sql<Row>(statement: string, values: readonly unknown[] = []) {
      const client = new Postgres({ connectionString: service.databaseUrl });
      await client.connect();
      try {
        return (await client.query(statement, [...values])).rows as Row[];
      } finally {
        await client.end();
      }
    },
    async close() {
      // Killing the server is enough, because its database is deleted with it.
      await Promise.all([...service.api, ...service.worker].map((each) => each.kill()));
      await Promise.all([postgres.kill(), temporal.kill()]);
    },
  };
}

async function killable(
  stateDir: string,
  start: (port: { port?: number }) => Promise<Running>,
): Promise<KillableServer & { readonly port: number }> {
  let running = true;
  const begin = async (port: { port?: number }): Promise<Running> => {
    const server = await start(port);
    running = true;
    recordPid(stateDir, server.pid);
    void server.ended.then(() => {
      if (current !== server && current !== undefined) return;
      running = false;
      // The server was not killed by the test but by its own watchdog, because it hung; an operator would restart it.
      if (!killed) restarting = restart();
    });
    return server;
  };
  async function restart(): Promise<void> {
    const server = await begin({ port });
    if (server.port !== port) throw new Error(`port ${port} was taken by another process`);
    current = server;
  }
  let killed = false;
  let restarting: Promise<void> = Promise.resolve();
  let current: Running | undefined;
  const first = await begin({});
  current = first;
  const { port } = first;
  return {
    port,
    pid: () => current?.pid ?? 0,
    running: () => running,
    async kill() {
      killed = true;
      await restarting;
      if (!running || current === undefined) return;
      process.kill(current.pid, "SIGKILL");
      await current.ended;
    },
    freeze(frozen) {
      const pid = current?.pid ?? 0;
      for (const each of [pid, ...childrenOf(pid)]) process.kill(each, frozen ? "SIGSTOP" : "SIGCONT");
    },
    async restart() {
      await restart();
      killed = false;
    },
  };
}

/** The child processes of a process. */
export function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync("ps", ["-eo", "pid=,ppid="], { encoding: "utf8" });
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child = 0, parent]) => (parent === pid ? [child] : []));
}
