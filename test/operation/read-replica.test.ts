import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startPostgres, type RunningPostgres } from "../../src/dev/postgres.ts";
import { echo, openTenant, type ApiTenant } from "../api/tenant.ts";
import { millrace } from "../cli/millrace.ts";
import { childrenOf } from "../kill/installation.ts";
import type { TestClient } from "../support/client.ts";
import { administer } from "../support/database.ts";
import { readMetrics } from "../support/metrics.ts";
import { as } from "../support/own-postgres.ts";
import { recordPid, startServiceProcess } from "../support/service-processes.ts";
import { startService, type OwnService } from "../support/service.ts";
import { startStandby } from "../support/standby.ts";
import { makeTemplate } from "../support/template.ts";

/** Long enough for a test to act before the replica catches up. */
const MAX_LAG_MS = 8000;

const dir = mkdtempSync(join(tmpdir(), "millrace-replica-"));
const shared = inject("millrace");
let primary: RunningPostgres;
let standby: RunningPostgres;
let service: OwnService;
let replicaUrl: string;
let tenant: ApiTenant;
let viewer: TestClient;

beforeAll(async () => {
  chmodSync(dir, 0o711);
  primary = await startPostgres({ dir: join(dir, "primary"), durable: false });
  recordPid(shared.stateDir, primary.pid);
  standby = await startStandby(primary, join(dir, "primary"), join(dir, "standby"));
  recordPid(shared.stateDir, standby.pid);
  const parts = { ...shared, ...(await makeTemplate(primary.url)) };
  // Started without processes first, because the replica's URL needs the name of the new database.
  service = await startService({ apis: 0, workers: 0 }, parts);
  const replica = new URL(standby.url);
  replica.pathname = new URL(service.databaseUrl).pathname;
  replicaUrl = replica.href;
  const env = { DATABASE_REPLICA_URL: replicaUrl, MILLRACE_REPLICA_MAX_LAG_MS: String(MAX_LAG_MS) };
  const api = await startServiceProcess("api", { ...service.env, ...env }, shared.stateDir);
  service = { ...service, url: api.url, api: [api] };
  tenant = await openTenant(service);
  viewer = await tenant.user("viewer");
});
afterAll(async () => {
  await Promise.all(service.api.map((api) => api.kill()));
  await standby?.stop();
  await primary?.stop();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

const metric = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "m").exec(await readMetrics({ url: service.url }))?.[1]);
async function untilInUse(value: 0 | 1): Promise<void> {
  await expect.poll(() => metric("millrace_replica_in_use")).toBe(value);
}

async function namesFor(client: TestClient): Promise<string[]> {
  const { status, body } = await client.get("/v2/projects", { query: { page_size: 200 } });
  expect(status).toBe(200);
  return body.data.map(({ name }: { name: string }) => name).toSorted();
}

const create = (name: string) => tenant.secret.post("/v2/projects", { name, flow: echo() });
const replay = (what: "pause" | "resume") => administer(replicaUrl, `select pg_wal_replay_${what}()`);

it("reads lists from the replica while it keeps up, and from the primary for callers that have just written", async () => {
  await create("first");
  await untilInUse(1);
  await expect.poll(() => namesFor(viewer)).toEqual(["first"]);
  await replay("pause");
  await create("second");
  // The caller who wrote it sees it; others see the state of the replica.
  expect(await namesFor(tenant.secret)).toEqual(["first", "second"]);
  expect(await namesFor(viewer)).toEqual(["first"]);
  // Reading it by ID works for everyone.
  const { body } = await tenant.secret.get("/v2/projects");
  const second = body.data.find(({ name }: { name: string }) => name === "second");
  expect((await viewer.get(`/v2/projects/${second.project_id}`)).status).toBe(200);
  // By then the replica lags too far behind to be used.
  await untilInUse(0);
  expect(await namesFor(viewer)).toEqual(["first", "second"]);
  expect(await metric("millrace_replica_lag_seconds")).toBeGreaterThan(MAX_LAG_MS / 1000);
  await replay("resume");
  await untilInUse(1);
  expect(await metric("millrace_replica_lag_seconds")).toBeLessThan(MAX_LAG_MS / 1000);
  expect(await namesFor(viewer)).toEqual(["first", "second"]);
});

it("exports a whole dataset version that the replica does not have yet", async () => {
  const { body: dataset } = await tenant.secret.post("/v2/evals/datasets", { name: "exported" });
  const rows = `/v2/evals/datasets/${dataset.dataset_id}/rows`;
  const add = (value: string) => tenant.secret.post(rows, { inputs: { "in-0": value } });
  await add("first");
  await untilInUse(1);
  const listed = async () => (await viewer.get(rows)).body.data.length;
  await expect.poll(listed).toBe(1);
  await replay("pause");
  await add("second");
  // This shows that the replica is read.
  expect(await listed()).toBe(1);
  const file = await viewer.get(`/v2/evals/datasets/${dataset.dataset_id}/export`);
  expect(file.body).toContain("first");
  expect(file.body).toContain("second");
  await replay("resume");
  await untilInUse(1);
  expect((await tenant.secret.delete(`/v2/evals/datasets/${dataset.dataset_id}`)).status).toBe(204);
});

it("can read every list and statistic from the replica", async () => {
  await untilInUse(1);
  const { paths } = (await viewer.get("/openapi.json")).body;
  const lists = Object.entries(paths as Record<string, { get?: { parameters?: Array<{ name?: string }> } }>)
    .filter(([path, { get }]) => !path.includes("{") && get !== undefined)
    .map(([path]) => path);
  expect(lists.length).toBeGreaterThan(20);
  for (const path of lists) await tenant.secret.get(path).catch(() => undefined);
  const { body: dataset } = await tenant.secret.post("/v2/evals/datasets", { name: "rows" });
  const exported = `/v2/evals/datasets/${dataset.dataset_id}/rows`;
  // Waits for the replica, which would otherwise lack the dataset that is read next.
  await expect
    .poll(async () => (await viewer.get("/v2/evals/datasets")).body.data.map((each: { name: string }) => each.name))
    .toEqual(["rows"]);
  expect((await viewer.get(exported)).status).toBe(200);
  expect(service.api[0]?.logs()).not.toContain("a query on the replica failed");
});

it("reads the primary without failed requests while the replica is down", async () => {
  await untilInUse(1);
  let asked = 0;
  let over = false;
  const asking = (async () => {
    for (; !over; asked += 1) expect(await namesFor(viewer)).toEqual(["first", "second"]);
  })();
  process.kill(standby.pid, "SIGKILL");
  await standby.ended;
  await untilInUse(0);
  const before = asked;
  await expect.poll(() => asked).toBeGreaterThan(before + 5);
  standby = await startPostgres({ dir: join(dir, "standby"), port: standby.port, durable: false });
  recordPid(shared.stateDir, standby.pid);
  await untilInUse(1);
  over = true;
  await asking;
});

it("reads the primary while the replica accepts connections but does not respond", async () => {
  await untilInUse(1);
  const processes = [standby.pid, ...childrenOf(standby.pid)];
  for (const pid of processes) process.kill(pid, "SIGSTOP");
  try {
    const began = Date.now();
    expect(await namesFor(viewer)).toEqual(["first", "second"]);
    expect(Date.now() - began).toBeLessThan(MAX_LAG_MS);
  } finally {
    for (const pid of processes) process.kill(pid, "SIGCONT");
  }
});

it("rejects a replica whose sessions are not restricted to an organisation, and doctor reports it", async () => {
  await administer(primary.url, "create role stranger login password 'sesame'");
  const stranger = as(replicaUrl, "stranger", "sesame");
  const env = { ...service.env, DATABASE_REPLICA_URL: stranger };
  await expect(startServiceProcess("api", env, shared.stateDir)).rejects.toThrow(/DATABASE_REPLICA_URL: .*stranger/);
  const findings = async (url: string) => {
    const { stdout } = await millrace(["doctor", "--json"], { ...service.env, DATABASE_REPLICA_URL: url });
    const { findings: all } = JSON.parse(stdout) as { findings: Array<{ part: string }> };
    return all.filter(({ part }) => part === "Replica");
  };
  expect(await findings(replicaUrl)).toMatchObject([{ state: "ok" }]);
  expect(await findings(stranger)).toMatchObject([{ state: "problem", text: expect.stringContaining("stranger") }]);
  expect(await findings(service.databaseUrl)).toMatchObject([
    { state: "problem", text: "the server is not a replica" },
  ]);
  const unknown = new URL(replicaUrl);
  unknown.pathname = "/nowhere";
  expect(await findings(unknown.href)).toMatchObject([
    { state: "problem", advice: expect.stringContaining("DATABASE_REPLICA_URL") },
  ]);
  await replay("pause");
  await create("third");
  expect(await findings(replicaUrl)).toMatchObject([{ state: "warning", text: expect.stringContaining("1000 ms") }]);
  await replay("resume");
  const away = new URL(replicaUrl);
  away.port = "1";
  expect(await findings(away.href)).toMatchObject([{ state: "warning", text: expect.stringContaining("primary") }]);
});

describe("a server that rejects the login", () => {
  const secret = "not-the-password";
  /** The output of a process that fails to start. */
  const said = async (env: Record<string, string>): Promise<string> => {
    const all = { ...service.env, ...env };
    const error: unknown = await startServiceProcess("api", all, shared.stateDir).catch((failed: unknown) => failed);
    return String((error as Error).message);
  };
  const elsewhere = (url: string, pathname: string): string => Object.assign(new URL(url), { pathname }).href;

  it.each([
    ["DATABASE_REPLICA_URL", () => replicaUrl],
    ["DATABASE_URL", () => service.databaseUrl],
  ])("stops an api with %s, the server's error and the fix, without the password", async (setting, url) => {
    await administer(primary.url, "create role locked login password 'sesame'").catch(() => undefined);
    const wrong = await said({ [setting]: as(url(), "locked", secret) });
    expect(wrong).toContain(
      `${setting}: password authentication failed for user "locked". Correct user and password in ${setting}`,
    );
    const missing = await said({ [setting]: elsewhere(url(), "/nowhere") });
    expect(missing).toContain(`${setting}: database "nowhere" does not exist. `);
    expect(missing).toMatch(new RegExp(`orrect .*${setting}`));
    for (const text of [wrong, missing]) {
      expect(text).not.toContain(secret);
      // The output contains no stack trace.
      expect(text).not.toMatch(/\n\s+at /);
    }
  });

  it("does not stop an api if it is a replica that does not respond at all", async () => {
    const away = Object.assign(new URL(replicaUrl), { port: "1" }).href;
    const api = await startServiceProcess("api", { ...service.env, DATABASE_REPLICA_URL: away }, shared.stateDir);
    await api.kill();
  });
});
