import { mkdtempSync, readFileSync, rmSync, chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Agent, setGlobalDispatcher } from "undici";
import { createKey, createOrganisation } from "../src/cli/accounts.ts";
import { PACKAGE_ROOT } from "../src/dev/package-root.ts";
import { claimPort } from "../src/dev/ports.ts";
import { startPostgres } from "../src/dev/postgres.ts";
import { startChild, type Child } from "../src/dev/processes.ts";
import { findTemporal } from "../src/dev/temporal-binary.ts";
import { startTemporal } from "../src/dev/temporal.ts";
import { openDatabase, type Database } from "../src/stores/db.ts";
import { migrate } from "../src/stores/migrate.ts";

// The load generator must not limit the result: connections are kept alive, and there are enough of them.
setGlobalDispatcher(new Agent({ connections: 1024, keepAliveTimeout: 60_000 }));

export interface Process {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Servers, one organisation and the processes of a measurement, all with temporary state. */
export interface Stage {
  readonly db: Database;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly temporalPid: number;
  readonly org_id: string;
  readonly key: string;
  api(env?: Record<string, string>, nodeOptions?: readonly string[]): Promise<Process>;
  worker(env?: Record<string, string>): Promise<Process>;
  /** Bare Temporal; `target` is the URL that it sends requests to. */
  twin(role: "api" | "worker", target?: string): Promise<Process>;
  /** Deploys a flow through an api and returns its ID. */
  deploy(api: Process, flow: unknown): Promise<string>;
  /** Runs a deployed flow through the inference API and checks for a 200. */
  call(api: Process, projectId: string, inputs: Record<string, unknown>): () => Promise<unknown>;
  close(): Promise<void>;
}

/**
 * `durable`: whether Postgres waits for the disk at each commit. Temporal's development server does not (its SQLite runs with
 * synchronous=1: safe against kill -9, not against power loss), so the comparison is fair only if Postgres does not either.
 */
export async function openStage({ durable }: { readonly durable: boolean }): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  chmodSync(dir, 0o711);
  const [postgres, temporal] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres"), durable }),
    findTemporal({ say: (line) => console.error(line) }).then((binary) =>
      startTemporal({ binary, dir: join(dir, "temporal"), uiPort: null }),
    ),
  ]);
  await migrate(postgres.url, join(PACKAGE_ROOT, "migrations"));
  const db = openDatabase({ url: postgres.url, poolSize: 4, applicationName: "bench", onError: () => undefined });
  const { org_id } = await createOrganisation(db, "bench");
  const { value: key } = await createKey(db, { org_id, name: "bench", kind: "secret" });
  const children = new Set<Child>();
  let closing: Promise<void> | undefined;

  async function start(
    name: string,
    script: string,
    args: readonly string[],
    env: Record<string, string>,
    nodeOptions: readonly string[] = [],
  ): Promise<Process> {
    const port = await claimPort();
    const logFile = join(dir, `${name}-${port}.log`);
    const child = await startChild({
      command: process.execPath,
      args: [
        ...nodeOptions,
        fileURLToPath(new URL(script, import.meta.url)),
        ...args.map((arg) => arg.replace("PORT", String(port))),
      ],
      env: {
        PATH: process.env["PATH"],
        NODE_ENV: "production",
        HOST: "127.0.0.1",
        ...env,
        ...(name === "worker" ? { MILLRACE_WORKER_PORT: String(port) } : { PORT: String(port) }),
      },
      logFile,
    });
    children.add(child);
    for (let waited = 0; !/\bready\b/.test(readFileSync(logFile, "utf8")); waited += 50) {
      if (!child.running() || waited > 60_000)
        throw new Error(`${name} did not start:\n${readFileSync(logFile, "utf8")}`);
      await delay(50);
    }
    return {
      url: `http://127.0.0.1:${port}`,
      pid: child.pid,
      async stop() {
        children.delete(child);
        await child.stop("SIGTERM", 10_000);
      },
    };
  }
  const service = {
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    MILLRACE_BLOB_URL: join(dir, "blobs"),
    MILLRACE_PRIVATE_HOSTS: "loopback",
    LOG_LEVEL: "warn",
  };

  return {
    db,
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    temporalPid: temporal.pid,
    org_id,
    key,
    // "ready" is logged at level info, so the level stays there; the access log is part of what is measured.
    api: (env = {}, nodeOptions = []) =>
      start("api", "../src/api-main.js", [], { ...service, LOG_LEVEL: "info", ...env }, nodeOptions),
    worker: (env = {}) => start("worker", "../src/worker-main.js", [], { ...service, LOG_LEVEL: "info", ...env }),
    twin: (role, target = "") =>
      start(`twin-${role}`, "./twin-main.js", [role, temporal.address, "PORT", postgres.url, target], {}),
    async deploy(api, flow) {
      const { project_id } = (await request(`${api.url}/v2/projects`, key, { name: "bench", flow, publish: true })) as {
        project_id: string;
      };
      return project_id;
    },
    call: (api, projectId, inputs) => () => request(`${api.url}/inference/v0/run/${org_id}/${projectId}`, key, inputs),
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    await Promise.all([...children].map((child) => child.stop("SIGTERM", 10_000)));
    await db.close();
    await Promise.all([temporal.stop(), postgres.stop()]);
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Thrown for any status but success. */
export class Refused extends Error {
  /** When to retry, if the server says so (ms from now). */
  readonly retryMs: number | undefined;

  constructor(url: string, response: Response, text: string) {
    super(`${url}: ${response.status} ${text.slice(0, 500)}`);
    const seconds = response.headers.get("retry-after");
    this.retryMs = seconds === null ? undefined : 1000 * Number(seconds);
  }
}

/** Posts JSON and returns JSON; throws Refused for any status but success. */
export async function request(url: string, key: string | null, body?: unknown): Promise<unknown> {
  return JSON.parse(await requestText(url, key, body));
}

/** Reads other bodies, such as exports and streams, to their end. */
export async function requestText(url: string, key: string | null, body?: unknown): Promise<string> {
  const response = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(url, response, text);
  return text;
}

/** Resident memory of a process (MiB). */
export function residentMib(pid: number): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib ?? Number.NaN) / 1024;
}
