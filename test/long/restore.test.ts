import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { millrace } from "../cli/millrace.ts";
import { buildRun, buildTenant, type Tenant } from "../stores/rows.ts";
import { administer } from "../support/database.ts";
import { bareServer, MIGRATIONS, ownPostgres } from "../support/own-postgres.ts";
import { findPostgresTools, serverForTools } from "../support/postgres-tools.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tools = findPostgresTools();

/** The commands from the page's section, in order: backup, roles, restore, doctor. URLs are replaced by the test's. */
function commands(): string[] {
  const page = readFileSync(join(root, "docs/operation.md"), "utf8");
  const section = page.slice(page.indexOf("## Restore\n"), page.indexOf("## Upgrade\n"));
  return [...section.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code).slice(1);
}

function open(url: string): Database {
  const database = openDatabase({ url, poolSize: 2, applicationName: "test", onError: () => undefined });
  onTestFinished(() => database.close());
  return database;
}

/** Everything in the database that separates organisations: policies, roles and grants. */
function access(database: Database): Promise<unknown[]> {
  return database.system((db) =>
    db.query(
      `select c.relname, c.relrowsecurity,
         (select jsonb_agg(to_jsonb(p) - 'schemaname' order by policyname) from pg_policies p where p.tablename = c.relname) as policies,
         (select array_agg(r.rolname || ' ' || a.privilege_type order by 1)
          from aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee where r.rolname like 'millrace\\_%') as grants
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`,
    ),
  );
}

describe.skipIf(typeof tools !== "string")(`a dump${typeof tools === "string" ? "" : `: ${tools.no}`}`, () => {
  const folder = typeof tools === "string" ? tools : "";
  const work = scratchFolder();
  let old: Awaited<ReturnType<typeof ownPostgres>>;
  let tenants: Array<Tenant & { run_id: string }>;
  let before: unknown[];

  beforeAll(async () => {
    old = await ownPostgres(await serverForTools(folder));
    await migrate(old.url, MIGRATIONS);
    const database = openDatabase({ url: old.url, poolSize: 2, applicationName: "test", onError: () => undefined });
    tenants = [];
    for (const tenant of [await buildTenant(database), await buildTenant(database)])
      tenants.push({ ...tenant, run_id: await buildRun(database, tenant) });
    before = await access(database);
    await database.close();
    const blobs = join(work(), "old-blobs");
    mkdirSync(blobs);
    writeFileSync(join(blobs, "blob"), "kept");
    expect(bash(commands()[0], { DATABASE_URL: old.url, BLOBS: blobs })).toMatchObject({ status: 0, stderr: "" });
  });
  afterAll(() => old?.close());

  /** Runs commands of the page in the folder of the dump, where millrace is installed. */
  function bash(
    code = "",
    env: Record<string, string> = {},
  ): { status: number | null; stdout: string; stderr: string } {
    const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-euo", "pipefail", "-c", code], {
      cwd: work(),
      encoding: "utf8",
      env: { ...env, PATH: [folder, process.env["PATH"]].join(delimiter), HOME: process.env["HOME"] },
    });
    // npm warns about the settings of the machine.
    return { status, stdout, stderr: stderr.replaceAll(/^npm warn.*\n?/gm, "") };
  }

  async function freshServer() {
    const server = await bareServer("open sesame", await serverForTools(folder));
    onTestFinished(() => server.close());
    return server;
  }

  async function isWhole(url: string): Promise<void> {
    const database = open(url);
    expect(await access(database)).toEqual(before);
    for (const { org_id, run_id } of tenants)
      expect(await database.org(org_id, (db) => db.query("select run_id from runs"))).toEqual([{ run_id }]);
  }

  it("restores a whole installation on a fresh server with the documented commands", async () => {
    const { admin, url } = await freshServer();
    const [, roles = "", restore = ""] = commands();
    const blobs = join(work(), "new-blobs");
    expect(bash(roles.replace("<password>", "open sesame"), { ADMIN_URL: admin })).toMatchObject({
      status: 0,
      stderr: "",
    });
    const env = { DATABASE_URL: url, BLOBS: blobs, LOG_LEVEL: "warn" };
    expect(bash(restore, env)).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(readFileSync(join(blobs, "blob"), "utf8")).toBe("kept");
    await isWhole(url);
    expect(await schemaFindings(url)).toMatchObject([
      { part: "Role", state: "ok" },
      { part: "Schema", state: "ok" },
    ]);
  });

  it("restored without its roles serves nothing, and says so, until migrate has created them", async () => {
    const { admin, url } = await freshServer();
    await administer(admin, "create role millrace login createrole password 'open sesame'");
    await administer(admin, "create database millrace owner millrace encoding 'UTF8' template template0");
    // The roles do not exist, so each policy and grant fails.
    expect(bash(`pg_restore --no-owner --dbname="$DATABASE_URL" millrace.dump`, { DATABASE_URL: url }).status).toBe(1);
    const found = await schemaFindings(url);
    expect(found).toMatchObject([
      { part: "Role", state: "problem", advice: expect.stringContaining("millrace migrate") },
      { part: "Schema", state: "problem", advice: expect.stringContaining("millrace migrate") },
    ]);
    expect(found[1]?.text).toContain("role millrace_app");

    const api = await startApi(url);
    expect(await api.ready()).toEqual([
      503,
      expect.objectContaining({ status: "unavailable", schema: "unavailable", advice: "Run `millrace migrate`." }),
    ]);
    const { applied, mended } = await migrate(url, MIGRATIONS);
    expect(applied).toEqual([]);
    expect(mended).toEqual(
      expect.arrayContaining(["role millrace_app", "role millrace_search", "policy org_rows on runs"]),
    );
    await isWhole(url);
    expect((await migrate(url, MIGRATIONS)).mended).toEqual([]);
    // The API becomes ready without a restart.
    await eventually("ready", async () => (await api.ready())[0] === 200);
  });
});

it("an empty or outdated database makes the api not ready, and the response names the command", async () => {
  const { adminUrl } = inject("millrace");
  const name = `empty_${randomBytes(4).toString("hex")}`;
  await administer(adminUrl, `create database ${name}`);
  onTestFinished(() => administer(adminUrl, `drop database ${name} with (force)`));
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const api = await startApi(url.href);
  const unready = [503, expect.objectContaining({ schema: "unavailable", advice: "Run `millrace migrate`." })];
  expect(await api.ready()).toEqual(unready);
  await migrate(url.href, MIGRATIONS);
  await eventually("ready", async () => (await api.ready())[0] === 200);
  await administer(url.href, "delete from migrations where name = '0004_pauses.sql'");
  expect(await api.ready()).toEqual(unready);
});

function scratchFolder(): () => string {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-restore-"));
    // `npx --no-install millrace` finds the program of this checkout there.
    mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
    symlinkSync(join(root, "bin/millrace.mjs"), join(folder, "node_modules/.bin/millrace"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}

async function schemaFindings(url: string) {
  const { stdout } = await millrace(["doctor", "--json"], {
    DATABASE_URL: url,
    TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
    MILLRACE_BLOB_URL: scratchDirectory(),
  });
  const { findings } = JSON.parse(stdout) as {
    findings: { part: string; state: string; text: string; advice?: string }[];
  };
  return findings.filter(({ part }) => part === "Role" || part === "Schema");
}

/** Starts an API process, even if it does not become ready. */
async function startApi(url: string): Promise<{ ready(): Promise<[number, unknown]> }> {
  const child = spawn(process.execPath, [join(root, "dist/src/api-main.js")], {
    env: {
      PATH: process.env["PATH"],
      DATABASE_URL: url,
      TEMPORAL_ADDRESS: inject("millrace").temporalAddress,
      MILLRACE_TASK_QUEUE: `test-${randomBytes(6).toString("hex")}`,
      MILLRACE_BLOB_URL: scratchDirectory(),
      HOST: "127.0.0.1",
      PORT: "0",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const port = await eventually("the api listens", () => /"port":(\d+),"msg":"api ready"/.exec(output)?.[1]);
  return {
    async ready() {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
      return [answer.status, await answer.json()];
    },
  };
}
