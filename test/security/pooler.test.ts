import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { isConnectionError, openDatabase, type Database } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { UnsafeSession } from "../../src/stores/session.ts";
import { administer } from "../support/database.ts";
import { startDatabaseProxy } from "../support/database-proxy.ts";
import { as, MIGRATIONS, ownPostgres } from "../support/own-postgres.ts";
import { scratchDirectory } from "../support/scratch.ts";

const LOGIN = "service";
let server: Awaited<ReturnType<typeof ownPostgres>>;
let login: string;

beforeAll(async () => {
  server = await ownPostgres();
  await administer(server.url, `create role ${LOGIN} login createrole password 'sesame'`);
  await administer(server.url, `alter database millrace owner to ${LOGIN}`);
  login = as(server.url, LOGIN, "sesame");
  await migrate(login, MIGRATIONS);
});
afterAll(() => server?.close());

function open(url: string): Database {
  const database = openDatabase({ url, poolSize: 2, applicationName: "test", onError: () => undefined });
  onTestFinished(() => database.close());
  return database;
}

/** The result of opening each of the three types of session; "served" if it succeeds. */
async function served(url: string): Promise<Record<"org" | "search" | "system", string>> {
  const database = open(url);
  const outcome = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "served",
      (error: unknown) => {
        expect(error).toBeInstanceOf(UnsafeSession);
        // Requests get a 503, and other work waits.
        expect(isConnectionError(error)).toBe(true);
        return (error as UnsafeSession).advice;
      },
    );
  return {
    org: await outcome(database.org(randomUUID(), (db) => db.query("select count(*) from runs"))),
    search: await outcome(database.search(randomUUID(), (db) => db.query("select count(*) from knowledge_bases"))),
    system: await outcome(database.system((db) => db.query("select count(*) from runs"))),
  };
}

const ALL_SERVED = { org: "served", search: "served", system: "served" };

it("pooler: serves a login that owns the tables and can take the roles", async () => {
  expect(await served(login)).toEqual(ALL_SERVED);
});

it("pooler: serves no organisation data if a pooler drops the options of a connection", async () => {
  for (const url of [login, server.url]) {
    const pooler = await startDatabaseProxy(url, { drops: ["options"] });
    onTestFinished(() => pooler.close());
    const pointing = expect.stringContaining("DATABASE_URL") as string;
    expect(await served(pooler.url)).toEqual({ org: pointing, search: pointing, system: "served" });
  }
});

// Each case breaks the server as a superuser could; the advice fixes it and is executed literally.
it.each([
  [
    "app role is a superuser",
    "alter role millrace_app superuser",
    { org: "alter role millrace_app nosuperuser nobypassrls;" },
  ],
  [
    "app role bypasses policies",
    "alter role millrace_app bypassrls",
    { org: "alter role millrace_app nosuperuser nobypassrls;" },
  ],
  [
    "search role bypasses policies",
    "alter role millrace_search bypassrls",
    { search: "alter role millrace_search nosuperuser nobypassrls;" },
  ],
  [
    "policies are off by a setting",
    `alter role ${LOGIN} set row_security = off`,
    {
      org: `alter role "${LOGIN}" in database "millrace" set row_security = on;`,
      search: `alter role "${LOGIN}" in database "millrace" set row_security = on;`,
    },
  ],
  [
    "app role owns a table",
    "alter table projects owner to millrace_app",
    { org: `alter table projects owner to "${LOGIN}"; -- and run migrate: its grants go with the owner` },
  ],
  [
    "policies of a table are off",
    "alter table projects disable row level security",
    { org: "alter table projects enable row level security;" },
  ],
  [
    "login may not take a role on",
    `revoke millrace_app from ${LOGIN} cascade`,
    { org: `grant millrace_app to "${LOGIN}";` },
  ],
  [
    "login takes the role on automatically",
    `alter role ${LOGIN} set role = millrace_app`,
    { system: `alter role "${LOGIN}" reset role;` },
  ],
])("pooler: refuses to serve if the %s, and says how to fix it", async (_, fault, refused) => {
  await administer(server.url, fault);
  const outcome = await served(login);
  for (const advice of new Set<string>(Object.values(refused))) await administer(server.url, advice);
  await migrate(login, MIGRATIONS);
  expect(outcome).toEqual({ ...ALL_SERVED, ...refused });
  expect(await served(login)).toEqual(ALL_SERVED);
});

it("pooler: refuses a login that cannot see any row, and says how to fix it", async () => {
  await administer(server.url, "create role stranger login password 'sesame' in role millrace_app, millrace_search");
  const url = as(server.url, "stranger", "sesame");
  const { system } = await served(url);
  expect(system).toBe(`grant "${LOGIN}" to "stranger";`);
  await administer(server.url, system);
  expect(await served(url)).toEqual(ALL_SERVED);
});

it("pooler: checks a session once, when it is new", async () => {
  const proxy = await startDatabaseProxy(login);
  onTestFinished(() => proxy.close());
  const database = open(proxy.url);
  const read = () => database.system((db) => db.query("select 1 as one"));
  await read();
  expect(proxy.take()).toEqual([expect.stringContaining("row_security_active"), "select 1 as one"]);
  await read();
  expect(proxy.take()).toEqual(["select 1 as one"]);
});

it("pooler: reports not ready from the first refused session until a session passes", async () => {
  const database = open(login);
  const read = () => database.org(randomUUID(), (db) => db.query("select count(*) from runs"));
  // A pool keeps sessions that it has checked, so this pool has none yet.
  await administer(server.url, "alter role millrace_app bypassrls");
  await expect(read()).rejects.toBeInstanceOf(UnsafeSession);
  await expect(database.ping()).rejects.toBeInstanceOf(UnsafeSession);
  await administer(server.url, "alter role millrace_app nobypassrls");
  // Only readiness was checked in the meantime.
  await database.ping();
  await read();
});

it("pooler: processes exit immediately behind a pooler that drops options, and print only the reason", async () => {
  const { temporalAddress } = inject("millrace");
  const pooler = await startDatabaseProxy(login, { drops: ["options"] });
  onTestFinished(() => pooler.close());
  for (const name of ["api", "worker"]) {
    const program = fileURLToPath(new URL(`../../dist/src/${name}-main.js`, import.meta.url));
    const { status, stderr } = await run(program, {
      DATABASE_URL: pooler.url,
      TEMPORAL_ADDRESS: temporalAddress,
      MILLRACE_BLOB_URL: scratchDirectory(),
      PORT: "0",
    });
    expect([status, stderr.trim().split("\n")]).toEqual([
      1,
      [expect.stringContaining("not to a pooler such as PgBouncer")],
    ]);
  }
});

/** Runs a program until it exits. Not spawnSync, because the proxy is in this process. */
function run(program: string, env: Record<string, string>): Promise<{ status: number | null; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program],
      { env: { PATH: process.env["PATH"], ...env } },
      (_, __, stderr) => resolve({ status: child.exitCode, stderr }),
    );
  });
}
