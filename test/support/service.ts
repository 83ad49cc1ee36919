import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { createKey, createOrganisation as createOrganisationRow } from "../../src/cli/accounts.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { cloneDatabase } from "./database.ts";
import { noteOrganisation } from "./made-organisations.ts";
import { MASTER_KEY } from "./payloads.ts";
import { startServiceProcess, type ServiceProcess } from "./service-processes.ts";
import type { SharedParts } from "./shared-parts.ts";

export { client } from "./client.ts";

export interface Service {
  readonly url: string;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
}

/** The API and the worker that all test files share. Create your own organisations, and change nothing global. */
export function service(): Service {
  const { service: shared, temporalAddress } = inject("millrace");
  if (shared === null) throw new Error("This vitest project has no shared service; use startService().");
  if ("problem" in shared) throw new Error(`The shared service did not start: ${shared.problem}`);
  return { ...shared, temporalAddress };
}

export interface OwnService extends Service {
  readonly api: readonly ServiceProcess[];
  readonly worker: readonly ServiceProcess[];
  readonly blobDir: string;
  readonly taskQueue: string;
  /** The environment of all its processes. */
  readonly env: Readonly<Record<string, string>>;
  /** The output of all its processes. */
  logs(): string;
  /** Kills its processes and deletes its database. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** Environment variables that override those of every process; see src/config.ts. An empty string unsets one. */
  readonly env?: Record<string, string>;
  /** Number of API processes; default 1. */
  readonly apis?: number;
  /** Number of worker processes; default 1. */
  readonly workers?: number;
}

/** Starts separate API and worker processes with a new database, blobs and task queue, on the shared servers. */
export async function startService(
  options: ServiceOptions = {},
  parts: Omit<SharedParts, "service"> = inject("millrace"),
): Promise<OwnService> {
  const { apis = 1, workers = 1 } = options;
  const database = await cloneDatabase(parts);
  const blobDir = mkdtempSync(join(parts.stateDir, "blobs-"));
  const taskQueue = `test-${randomBytes(6).toString("hex")}`;
  const env = {
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: "6",
    TEMPORAL_ADDRESS: parts.temporalAddress,
    MILLRACE_TASK_QUEUE: taskQueue,
    MILLRACE_BLOB_URL: blobDir,
    MILLRACE_MASTER_KEY: MASTER_KEY,
    // Test targets listen on loopback; tests of the address check set this to "".
    MILLRACE_PRIVATE_HOSTS: "loopback",
    // Repairs that take minutes in production should happen within a test.
    MILLRACE_SWEEP_INTERVAL_MS: "300",
    MILLRACE_ERASURE_QUIET_MS: "1000",
    MILLRACE_STUCK_AFTER_MS: "3000",
    MILLRACE_MIN_SCHEDULE_SECONDS: "1",
    MILLRACE_SCHEDULE_CHECK_MS: "1000",
    MILLRACE_MONITOR_INTERVAL_SECONDS: "1",
    MILLRACE_MONITOR_MIN_WINDOW_SECONDS: "1",
    MILLRACE_SHUTDOWN_GRACE_MS: "5000",
    MILLRACE_DRAIN_MS: "0",
    MILLRACE_SITE_DELAY_MS: "0",
    MILLRACE_SYNC_MAX_PAGES: "150",
    // All visitors of all tests come from one address.
    MILLRACE_PAGE_RATE_LIMIT: "1000000",
    ...options.env,
  };
  const kinds = [...Array<"api">(apis).fill("api"), ...Array<"worker">(workers).fill("worker")];
  const started = await Promise.allSettled(kinds.map((kind) => startServiceProcess(kind, env, parts.stateDir)));
  const processes = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const close = async (): Promise<void> => {
    await Promise.all(processes.map((each) => each.kill()));
    await database.drop();
    rmSync(blobDir, { recursive: true, force: true });
  };
  const failed = started.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  const api = processes.filter((each) => each.kind === "api");
  return {
    url: api[0]?.url ?? "",
    databaseUrl: database.url,
    temporalAddress: parts.temporalAddress,
    api,
    worker: processes.filter((each) => each.kind === "worker"),
    blobDir,
    taskQueue,
    env,
    logs: () => processes.map((each) => each.logs()).join(""),
    close,
  };
}

export interface TestOrganisation {
  readonly org_id: string;
  readonly publicKey: string;
  readonly secretKey: string;
}

/** Creates an organisation with one key of each type, as the command line does. */
export async function createOrganisation(
  target: Pick<Service, "databaseUrl">,
  name = "test",
): Promise<TestOrganisation> {
  const database = openDatabase({
    url: target.databaseUrl,
    poolSize: 2,
    applicationName: "millrace-test",
    onError: () => undefined,
  });
  try {
    const { org_id } = await createOrganisationRow(database, name);
    const publicKey = await createKey(database, { org_id, name: "public", kind: "public" });
    const secretKey = await createKey(database, { org_id, name: "secret", kind: "secret" });
    noteOrganisation({ databaseUrl: target.databaseUrl, org_id, secretKey: secretKey.value });
    return { org_id, publicKey: publicKey.value, secretKey: secretKey.value };
  } finally {
    await database.close();
  }
}
