import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { fetchModel } from "../../src/dev/embedding-model.ts";
import { startPostgres, type PostgresOptions } from "../../src/dev/postgres.ts";
import { isAlive } from "../../src/dev/processes.ts";
import { findTemporal } from "../../src/dev/temporal-binary.ts";
import { supervise } from "../../src/dev/supervisor.ts";
import { startTemporal, type RunningTemporal } from "../../src/dev/temporal.ts";
import { oldestPostgres } from "./oldest-postgres.ts";
import { endRecorded, recordPid } from "./service-processes.ts";
import { startService } from "./service.ts";
import type { SharedParts } from "./shared-parts.ts";
import { makeTemplate } from "./template.ts";

const PREFIX = "millrace-test-";
/** The projects whose test files share an installation. */
const WITH_SHARED_SERVICE: readonly string[] = ["service", "web"];

type Servers = Omit<SharedParts, "service">;
interface StartedServers {
  readonly servers: Servers;
  stop(): Promise<void>;
}

interface Shared {
  users: number;
  readonly servers: Promise<StartedServers>;
  /** Why there is no usable dist/; tests that need no processes still run. */
  readonly build: Promise<string | undefined>;
  service?: Promise<SharedParts["service"]>;
}

// Vitest loads this file once per project, so the servers are stored globally to share them between projects.
const shared = globalThis as typeof globalThis & { millrace?: Shared | undefined };

/** Starts the servers that the tests of a project need, with temporary state, and stops them after the last project. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shared.millrace ??= { users: 0, servers: startServers(), build: build() };
  const state = shared.millrace;
  state.users++;
  const { servers, stop } = await state.servers;
  const problem = await state.build;
  if (problem !== undefined) console.error(problem);
  if (WITH_SHARED_SERVICE.includes(project.name)) state.service ??= startShared(servers, problem);
  const service = WITH_SHARED_SERVICE.includes(project.name) ? ((await state.service) ?? null) : null;
  project.provide("millrace", { ...servers, service });
  return async () => {
    if (--state.users > 0) return;
    shared.millrace = undefined;
    await stop();
    cleanUp(servers.stateDir);
  };
}

async function startServers(): Promise<StartedServers> {
  removeLeftovers();
  const stateDir = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  // Under root, Postgres runs as another user, who must be able to traverse this folder.
  chmodSync(stateDir, 0o711);
  const started = await Promise.allSettled([
    postgresOptions().then((options) => startPostgres({ dir: join(stateDir, "postgres"), durable: false, ...options })),
    findTemporal({ say: (line) => console.error(line) }).then((binary) =>
      // Temporal's own watchdog kills it when it hangs, so it is restarted.
      supervise<RunningTemporal>({
        name: "Temporal",
        say: (line) => console.error(line),
        onStart: ({ pid }) => recordPid(stateDir, pid),
        start: (last) =>
          startTemporal({
            binary,
            dir: join(stateDir, "temporal"),
            uiPort: null,
            ...(last ? { port: last.port } : {}),
          }),
      }),
    ),
  ]);
  // Without the model, tests of semantic search report that they are skipped.
  const model = await fetchModel({ say: (line) => console.error(line) });
  if ("no" in model) console.error(model.no);
  const [postgres, temporal] = started;
  if (postgres.status === "fulfilled") recordPid(stateDir, postgres.value.pid);
  if (postgres.status === "rejected" || temporal.status === "rejected") {
    cleanUp(stateDir);
    throw postgres.status === "rejected" ? postgres.reason : (temporal as PromiseRejectedResult).reason;
  }
  const parts = await makeTemplate(postgres.value.url);
  const { first, stop } = temporal.value;
  return { servers: { ...parts, temporalAddress: first.address, stateDir }, stop };
}

/** The Postgres to use: the newest, which comes with the packages, or the oldest supported one. */
async function postgresOptions(): Promise<Partial<PostgresOptions>> {
  return process.env["MILLRACE_TEST_POSTGRES"] === "oldest" ? oldestPostgres((line) => console.error(line)) : {};
}

async function build(): Promise<string | undefined> {
  const { prepare } = (await import(new URL("../../scripts/prepare.mjs", import.meta.url).href)) as {
    prepare: () => Promise<void>;
  };
  return prepare().then(
    () => undefined,
    (error: Error) => error.message,
  );
}

async function startShared(servers: Servers, problem: string | undefined): Promise<SharedParts["service"]> {
  if (problem !== undefined) return { problem };
  try {
    const { url, databaseUrl } = await startService({}, servers);
    return { url, databaseUrl };
  } catch (error) {
    // Every test that uses it throws this error; other tests can still run.
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Kills every process of a test run and deletes its files. No state is kept, so nothing needs a graceful stop. */
function cleanUp(stateDir: string): void {
  const pids = join(stateDir, "pids");
  for (const pid of existsSync(pids) ? readdirSync(pids) : []) endRecorded(stateDir, Number(pid));
  if (process.env["MILLRACE_KEEP_TEST_STATE"] !== "1")
    rmSync(stateDir, { recursive: true, force: true, maxRetries: 5 });
}

/** Removes what killed test runs have left behind. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) cleanUp(join(tmpdir(), name));
  }
}
