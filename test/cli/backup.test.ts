import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { Client } from "pg";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { createFileBlobStore } from "../../src/platform/blobs/blobs.ts";
import { pathOfKey } from "../../src/platform/blobs/file-store.ts";
import { bucketAddress, signed } from "../../src/platform/s3/signed-request.ts";
import { masterKeyId, createSecretBox, generateMasterKey } from "../../src/platform/secrets/seal.ts";
import { sealSecret } from "../../src/services/webhooks/subscription-secrets.ts";
import { migrate, migrationsIn } from "../../src/stores/migrate.ts";
import { buildRun, buildTenant, putSubscription, type Tenant } from "../stores/rows.ts";
import { administer, testDatabase } from "../support/database.ts";
import { fillAtBaseline, fillBeforeBaseline } from "../support/before-baseline.ts";
import { as, MIGRATIONS } from "../support/own-postgres.ts";
import { findS3Program, startS3Server } from "../support/s3-server.ts";
import { startRoleGate, startStsServer } from "../support/sts-server.ts";
import { eventually, scratchDirectory } from "../support/scratch.ts";
import { millrace, type Outcome } from "./millrace.ts";

const s3Program = await findS3Program();
const MASTER = generateMasterKey();
const MASTER_ID = masterKeyId(Buffer.from(MASTER, "base64"));
/** Characters that COPY escapes. */
const ODD = 'tab\tline\nreturn\rback\\slash \\N \\. ü \u{1f600} "quoted"';

let source: Awaited<ReturnType<typeof testDatabase>>;
let tenant: Tenant;
beforeAll(async () => {
  source = await testDatabase();
  tenant = await buildTenant(source.database);
  await source.database.system(async (db) => {
    await db.query("update projects set name = $1 where project_id = $2", [ODD, tenant.project_id]);
    const id = uuidv7();
    const box = createSecretBox([Buffer.from(MASTER, "base64")]);
    await putSubscription(db, tenant.org_id, id, { secret: sealSecret(box, id, "whsec_x") });
    await db.query("update webhook_subscriptions set deleted_at = null");
  });
  await buildRun(source.database, tenant, { inputs: { "in-0": { v: ODD } }, tags: ["a", "b"] });
  const child = await buildRun(source.database, tenant);
  await buildRun(source.database, tenant, { parent_run_id: child });
});
afterAll(() => source?.close());

async function migrateToBaseline(url: string): Promise<void> {
  const files = await migrationsIn(MIGRATIONS);
  await migrate(
    url,
    MIGRATIONS,
    files.filter((name) => name < "0191"),
  );
}

/** An empty database whose owner is not a superuser, as on an operator's server. */
async function emptyDatabase(): Promise<string> {
  const { adminUrl } = inject("millrace");
  const name = `restored_${randomBytes(4).toString("hex")}`;
  await administer(adminUrl, `create role ${name} login createrole password 'sesame'`);
  await administer(adminUrl, `grant millrace_app, millrace_search to ${name}`);
  await administer(adminUrl, `create database ${name} owner ${name}`);
  onTestFinished(async () => {
    await administer(adminUrl, `drop database ${name} with (force)`);
    await administer(adminUrl, `drop role ${name}`);
  });
  const url = new URL(as(adminUrl, name, "sesame"));
  url.pathname = `/${name}`;
  return url.href;
}

/** A digest of all rows of each table. */
async function contents(url: string): Promise<Record<string, string>> {
  return withRows(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'migrations' order by 1",
    );
    const all: Record<string, string> = {};
    for (const { name } of rows) {
      const found = await client.query<{ digest: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as digest from "${name}" t`,
      );
      all[name] = found.rows[0]?.digest ?? "";
    }
    return all;
  });
}

/** Foreign keys and triggers, and whether they are enabled. */
async function rules(url: string): Promise<unknown[]> {
  return withRows(url, async (client) => {
    const { rows } = await client.query(
      `select conrelid::regclass::text as "on", conname as name, pg_get_constraintdef(oid) as rule from pg_constraint where contype = 'f'
       union all select tgrelid::regclass::text, tgname, tgenabled::text from pg_trigger where not tgisinternal order by 1, 2`,
    );
    return rows;
  });
}

async function withRows<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const backup = (place: string, blobs: string, url = source.url, env = {}): Promise<Outcome> =>
  millrace(["backup", place, "--database-url", url, "--json"], { MILLRACE_BLOB_URL: blobs, ...env });
const restore = (place: string, blobs: string, url: string, env = {}): Promise<Outcome> =>
  millrace(["restore", place, "--database-url", url, "--json"], {
    MILLRACE_BLOB_URL: blobs,
    MILLRACE_MASTER_KEY: MASTER,
    ...env,
  });
const check = (place: string, env = {}): Promise<Outcome> =>
  millrace(["restore", place, "--check", "--json"], { MILLRACE_MASTER_KEY: MASTER, ...env });
const problemsOf = ({ stdout }: Outcome): string[] => (JSON.parse(stdout) as { problems: string[] }).problems;

const blobIn = (directory: string, key: string): string => join(directory, pathOfKey(key) ?? "");

/** A blob that a document of the tenant refers to, and a blob without a reference. */
async function withBlobs(): Promise<{ directory: string; keys: string[]; contents: Buffer[] }> {
  const directory = scratchDirectory();
  const store = await createFileBlobStore(directory);
  onTestFinished(() => store.close());
  const bytes = [randomBytes(100_000), Buffer.alloc(0)];
  const keys: string[] = [];
  for (const each of bytes) keys.push((await store.put(tenant.org_id, each, { maxBytes: 1_000_000 })).key);
  await source.database.system((db) =>
    db.query("update runs set outputs = $1 where parent_run_id is not null", [
      JSON.stringify({ out: { ref: { $blob: keys[0], size: 100_000 } } }),
    ]),
  );
  return { directory, keys, contents: bytes };
}

describe("millrace backup and restore", () => {
  it("name the Postgres that does not respond, the fix, and a mistyped setting", async () => {
    const place = join(scratchDirectory(), "backup");
    const env = { MILLRACE_BLOB_URI: "/data" };
    const nowhere = "postgres://ada:sesame@127.0.0.1:9/acme";
    const said =
      "MILLRACE_BLOB_URI is not a setting and has no effect; did you mean MILLRACE_BLOB_URL?\n" +
      "Postgres at 127.0.0.1:9/acme: connect ECONNREFUSED 127.0.0.1:9. Start it, or correct DATABASE_URL (host, port).\n";
    expect(await backup(place, scratchDirectory(), nowhere, env)).toEqual({ code: 1, stdout: "", stderr: said });
    const { directory } = await withBlobs();
    expect(await backup(place, directory)).toMatchObject({ code: 0 });
    expect(await restore(place, scratchDirectory(), nowhere, env)).toEqual({ code: 1, stdout: "", stderr: said });
  });

  it("report a restore whose connection ends, and can run it again, also over a blob that was copied in part", async () => {
    const { directory, keys, contents: bytes } = await withBlobs();
    const place = join(scratchDirectory(), "backup");
    await backup(place, directory);
    const url = await emptyDatabase();
    await withRows(url, async (client) => {
      await migrate(url, MIGRATIONS);
      // The restore waits for this lock and is terminated while it waits.
      await client.query("begin");
      await client.query("lock table runs in access exclusive mode");
      const ended = restore(place, scratchDirectory(), url);
      await eventually("the restore waits", async () => {
        // Inside a transaction, Postgres shows the activity as of the first query unless the snapshot is cleared.
        await client.query("select pg_stat_clear_snapshot()");
        const { rows } = await client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace-restore' and wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows.length > 0;
      });
      expect((await ended).stderr).toMatch(
        /^Postgres at .*: terminating connection due to administrator command\. Start it/,
      );
      await client.query("rollback");
    });
    const [target, [key = ""]] = [scratchDirectory(), keys];
    mkdirSync(dirname(blobIn(target, key)), { recursive: true });
    writeFileSync(blobIn(target, key), "part");
    expect(await restore(place, target, url)).toMatchObject({ code: 0, stderr: "" });
    expect(await contents(url)).toEqual(await contents(source.url));
    expect(readFileSync(blobIn(target, key))).toEqual(bytes[0]);
  });

  it("restore every row, blob, reference, trigger and identity counter", async () => {
    const blobs = await withBlobs();
    const place = join(scratchDirectory(), "backup");
    const next = (of: string): Promise<unknown> =>
      withRows(of, async (client) => (await client.query("select nextval('outbox_seq_seq') as next")).rows);
    // Only a counter that was used is part of a backup.
    await next(source.url);
    const taken = await backup(place, blobs.directory);
    expect(taken).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(taken.stdout)).toMatchObject({ master_keys: [MASTER_ID], blobs: { count: 2, missing: 0 } });
    const before = readdirSync(place, { recursive: true }).toSorted();
    expect(await check(place)).toMatchObject({ code: 0, stderr: "" });
    // The check has written nothing.
    expect(readdirSync(place, { recursive: true }).toSorted()).toEqual(before);

    const [url, directory] = [await emptyDatabase(), scratchDirectory()];
    const restored = await restore(place, directory, url);
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(restored.stdout)).toMatchObject({ unknown_keys: [] });
    expect(await contents(url)).toEqual(await contents(source.url));
    expect(await rules(url)).toEqual(await rules(source.url));
    const store = await createFileBlobStore(directory);
    onTestFinished(() => store.close());
    for (const [index, key] of blobs.keys.entries())
      expect((await store.read(key, 1_000_000)).equals(blobs.contents[index] ?? Buffer.from("?"))).toBe(true);
    expect(await next(url)).toEqual(await next(source.url));
    // No file contains a key or a secret.
    for (const file of readdirSync(place, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())) {
      const bytes = readFileSync(join(file.parentPath, file.name));
      const clear = file.name.endsWith(".gz") ? gunzipSync(bytes) : bytes;
      expect(clear.includes(MASTER) || clear.includes("whsec_x")).toBe(false);
    }
    // After the restore the database is not empty.
    const again = await restore(place, directory, url);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("The database is not empty: ") });
    // The location of the backup is not empty either.
    expect(await backup(place, blobs.directory)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("A backup already exists here"),
    });
  });

  it("capture a single moment while rows are being added", async () => {
    const own = await testDatabase();
    onTestFinished(() => own.close());
    let on = true;
    let added = 0;
    // The copy reads these two tables far apart in time.
    const adding = (async () => {
      while (on) {
        const org = uuidv7();
        await own.database.systemTransaction(async (db) => {
          await db.query("insert into organisations (org_id, name) values ($1, 'x')", [org]);
          await db.query(
            "insert into users (user_id, org_id, email, password_hash, role) values ($1::uuid, $2::uuid, $1::uuid || '@x', 'x', 'admin')",
            [uuidv7(), org],
          );
        });
        added += 1;
      }
    })();
    await eventually("rows are added", () => added > 0);
    const place = scratchDirectory();
    const taken = await backup(place, scratchDirectory(), own.url);
    on = false;
    await adding;
    expect(taken).toMatchObject({ code: 0, stderr: "" });
    const url = await emptyDatabase();
    expect(await restore(place, scratchDirectory(), url)).toMatchObject({ code: 0, stderr: "" });
    const { rows } = await withRows(url, (client) =>
      client.query("select (select count(*) from organisations) as a, (select count(*) from users) as b"),
    );
    expect(Number(rows[0].a)).toBeGreaterThan(0);
    expect(rows[0].a).toBe(rows[0].b);
  });

  it("delete partial files of a killed backup, but no file that is being written", async () => {
    const place = scratchDirectory();
    const left = join(place, "tmp");
    mkdirSync(left);
    for (const name of ["killed", "open"]) writeFileSync(join(left, name), "part");
    utimesSync(join(left, "killed"), new Date(), new Date(Date.now() - 1000));
    utimesSync(join(left, "open"), new Date(), new Date(Date.now() + 600_000));
    const { directory } = await withBlobs();
    expect(await backup(place, directory)).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(left)).toEqual(["open"]);
    // The remaining temporary file is not part of the backup.
    expect(await check(place)).toMatchObject({ code: 0, stderr: "" });
  });

  it("name blobs that rows refer to but that are missing", async () => {
    const { directory, keys } = await withBlobs();
    const [gone = ""] = keys;
    rmSync(blobIn(directory, gone));
    const place = scratchDirectory();
    const taken = await millrace(["backup", place, "--database-url", source.url], { MILLRACE_BLOB_URL: directory });
    expect(taken.code).toBe(0);
    expect(taken.stdout).toContain("1 blob that rows refer to is missing");
    expect(taken.stdout).toContain(gone);
    // If no blob exists at that location, the setting must be wrong.
    const nowhere = await backup(scratchDirectory(), scratchDirectory());
    expect(nowhere).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("MILLRACE_BLOB_URL contains none of them"),
    });
  });

  it("report every problem of a damaged backup, and restore no part of it", async () => {
    const blobs = await withBlobs();
    const place = scratchDirectory();
    await backup(place, blobs.directory);
    const projects = join(place, "tables/projects.copy.gz");
    const whole = readFileSync(projects);
    // The file has one row fewer but is still valid.
    writeFileSync(projects, gzipSync(gunzipSync(whole).toString().split("\n").slice(1).join("\n")));
    const [key = ""] = blobs.keys;
    const blob = blobIn(join(place, "blobs"), key);
    const bytes = readFileSync(blob);
    bytes[50_000] = (bytes[50_000] ?? 0) ^ 1;
    writeFileSync(blob, bytes);
    rmSync(join(place, "tables/users.copy.gz"));
    const found = await check(place);
    expect(found.code).toBe(1);
    expect(problemsOf(found)).toEqual([
      expect.stringMatching(/^tables\/projects\.copy\.gz: it has \d+ bytes, but the manifest says \d+\.$/),
      "tables/users.copy.gz: the file is missing.",
      expect.stringMatching(/^blobs\/.*: its checksum differs from the manifest\.$/),
    ]);

    const url = await emptyDatabase();
    const damaged = await restore(place, scratchDirectory(), url);
    expect(damaged).toMatchObject({ code: 1, stderr: expect.stringContaining("its checksum") });
    writeFileSync(blob, Buffer.from(bytes).fill((bytes[50_000] ?? 0) ^ 1, 50_000, 50_001));
    const target = scratchDirectory();
    expect((await restore(place, target, url)).code).toBe(1);
    // The failed restore leaves an empty database, so it can be retried when the backup is complete.
    expect(new Set(Object.values(await contents(url)).map((digest) => digest.split(" ")[0]))).toEqual(new Set(["0"]));
    writeFileSync(projects, whole);
    writeFileSync(join(place, "tables/users.copy.gz"), gzipSync(""));
    const manifest = join(place, "manifest.json");
    const said = JSON.parse(readFileSync(manifest, "utf8"));
    const empty = { ...said, tables: said.tables.filter(({ name }: { name: string }) => name !== "users") };
    writeFileSync(manifest, JSON.stringify(empty));
    expect(await restore(place, target, url)).toMatchObject({ code: 0, stderr: "" });

    writeFileSync(manifest, JSON.stringify({ ...empty, migrations: [...said.migrations, "9999_later.sql"] }));
    expect(problemsOf(await check(place))).toEqual([expect.stringContaining("newer (9999_later.sql)")]);
    expect(await restore(place, target, await emptyDatabase())).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("9999_later.sql"),
    });
    rmSync(manifest);
    expect(await check(place)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${place}: The backup is incomplete`),
    });
  });

  it.each([
    ["before the baseline", fillAtBaseline],
    ["with the baseline only", migrateToBaseline],
  ])("restore a backup of an earlier version and migrate it: %s", async (_, fill) => {
    const old = await emptyDatabase();
    await fill(old);
    await administer(old, `insert into organisations (org_id, name) values ('${uuidv7()}', 'old')`);
    const place = scratchDirectory();
    expect(await backup(place, scratchDirectory(), old)).toMatchObject({ code: 0, stderr: "" });
    const url = await emptyDatabase();
    const restored = await restore(place, scratchDirectory(), url, { MILLRACE_MASTER_KEY: generateMasterKey() });
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    const { rows } = await withRows(url, (client) =>
      client.query("select (select count(*)::int from migrations) as n, (select name from organisations) as name"),
    );
    expect(rows).toEqual([{ n: (await migrationsIn(MIGRATIONS)).length, name: "old" }]);
  });

  it("refuse a backup from before the last of the migrations that the baseline replaced", async () => {
    const old = await emptyDatabase();
    await fillBeforeBaseline(old);
    await administer(old, "delete from migrations where name > '0079'");
    const place = scratchDirectory();
    expect(await backup(place, scratchDirectory(), old)).toMatchObject({ code: 0, stderr: "" });
    expect(problemsOf(await check(place))).toEqual([expect.stringContaining("before the baseline of this version")]);
    const url = await emptyDatabase();
    expect(await restore(place, scratchDirectory(), url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("before the baseline of this version"),
    });
  });

  it("leave HNSW indexes to the workers and restore them as missing, also from earlier backups", async () => {
    const old = await emptyDatabase();
    await migrate(old, MIGRATIONS);
    const [org_id, base] = [uuidv7(), uuidv7()];
    await administer(
      old,
      `insert into organisations (org_id, name) values ('${org_id}', 'old');
       insert into knowledge_bases (knowledge_base_id, org_id, name, indexing_params) values ('${base}', '${org_id}', 'b', '{}');
       insert into knowledge_indexes (org_id, knowledge_base_id, state, params, embedding_model, dimensions, languages, has_hnsw)
         values ('${org_id}', '${base}', 'active', '{}', 'local', 384, '{}', true)`,
    );
    const place = scratchDirectory();
    expect(await backup(place, scratchDirectory(), old)).toMatchObject({ code: 0, stderr: "" });
    const file = join(place, "manifest.json");
    const manifest = JSON.parse(readFileSync(file, "utf8"));
    expect(manifest.tables.map(({ name }: { name: string }) => name)).not.toContain("knowledge_vectors");
    const [empty] = manifest.tables.filter(({ rows }: { rows: number }) => rows === 0);
    manifest.tables.push({ ...empty, name: "knowledge_vectors", columns: ["embedding"] });
    writeFileSync(file, JSON.stringify(manifest));

    const url = await emptyDatabase();
    expect(await restore(place, scratchDirectory(), url)).toMatchObject({ code: 0, stderr: "" });
    const { rows } = await withRows(url, (client) => client.query("select has_hnsw from knowledge_indexes"));
    expect(rows).toEqual([{ has_hnsw: false }]);
  });

  it("name master keys that are missing from the environment", async () => {
    const blobs = await withBlobs();
    const place = scratchDirectory();
    await backup(place, blobs.directory);
    const { stdout } = await check(place, { MILLRACE_MASTER_KEY: generateMasterKey() });
    expect(JSON.parse(stdout)).toMatchObject({ whole: true, unknown_keys: [MASTER_ID] });
  });

  it.skipIf("no" in s3Program)("back up to a bucket, and restore from it into another blob store", async () => {
    if ("no" in s3Program) return;
    const server = await startS3Server(s3Program.path, scratchDirectory());
    onTestFinished(() => server.close());
    const keys = {
      MILLRACE_BACKUP_S3_ACCESS_KEY_ID: server.credentials.accessKeyId,
      MILLRACE_BACKUP_S3_SECRET_ACCESS_KEY: server.credentials.secretAccessKey,
      // The keys of the blobs are not valid for the backup.
      MILLRACE_S3_ACCESS_KEY_ID: "blobs-only",
      MILLRACE_S3_SECRET_ACCESS_KEY: "blobs-only",
    };
    const blobs = await withBlobs();
    const place = server.url.replace("a/prefix", "backups/monday");
    // The bucket contains the rest of a backup that was killed.
    const { accessKeyId, secretAccessKey } = server.credentials;
    const bucket = bucketAddress({ region: "us-east-1", endpoint: server.endpoint }, "blobs");
    const ask = async (method: string, path: string, query: Readonly<Record<string, string>>): Promise<string> => {
      const access = { region: "us-east-1", endpoint: server.endpoint, accessKeyId, secretAccessKey };
      const { url, headers } = await signed(bucket, access, { method, path, query });
      return (await fetch(url, { method, headers: { ...headers } })).text();
    };
    await ask("POST", "backups/monday/tables/runs.copy.gz", { uploads: "" });
    expect(await ask("GET", "", { uploads: "", prefix: "backups/" })).toContain("runs.copy.gz");
    expect(await backup(place, blobs.directory, source.url, keys)).toMatchObject({ code: 0, stderr: "" });
    expect(await ask("GET", "", { uploads: "", prefix: "backups/" })).not.toContain("runs.copy.gz");
    expect(await check(place, keys)).toMatchObject({ code: 0, stderr: "" });
    // Credentials may also come from a role, and then only the bucket is accessed.
    const sts = await startStsServer();
    const gate = await startRoleGate(server, sts);
    onTestFinished(() => Promise.all([gate.close(), sts.close()]).then(() => undefined));
    const role = {
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/backups",
      AWS_WEB_IDENTITY_TOKEN_FILE: join(scratchDirectory(), "token"),
      AWS_ENDPOINT_URL_STS: sts.url,
    };
    writeFileSync(role.AWS_WEB_IDENTITY_TOKEN_FILE, "eyJ.token");
    sts.trust(role.AWS_ROLE_ARN, "eyJ.token");
    const gated = `s3://blobs/backups/tuesday?endpoint=${gate.endpoint}`;
    expect(await backup(gated, blobs.directory, source.url, role)).toMatchObject({ code: 0, stderr: "" });
    expect(await check(gated, role)).toMatchObject({ code: 0, stderr: "" });
    expect([sts.forms.length, gate.passed() > 10]).toEqual([2, true]);
    const url = await emptyDatabase();
    const own = {
      MILLRACE_S3_ACCESS_KEY_ID: server.credentials.accessKeyId,
      MILLRACE_S3_SECRET_ACCESS_KEY: server.credentials.secretAccessKey,
    };
    expect(await restore(place, server.url, url, own)).toMatchObject({ code: 0, stderr: "" });
    expect(await contents(url)).toEqual(await contents(source.url));
    // The restored blobs are stored as in an installation, so a backup of them finds all.
    const second = await backup(scratchDirectory(), server.url, url, own);
    expect(JSON.parse(second.stdout)).toMatchObject({ blobs: { count: 2, missing: 0 } });
  });
});

it("rejects an invalid backup location, and an S3 location without credentials", async () => {
  expect(await millrace(["restore", "s3://bucket", "--check"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("No credentials for S3 are set, neither keys nor a role."),
  });
  // An unset variable in a script gives an empty argument, which must not mean the current folder.
  const unset = await millrace(["backup", "", "--database-url", source.url]);
  expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining("Pass the location of the backup")]);
  const file = join(scratchDirectory(), "file");
  writeFileSync(file, "");
  // For the last location, Node's recursive mkdir never returns.
  for (const place of [file, join(file, "backup"), "/proc/backup"])
    expect(await millrace(["backup", place, "--database-url", source.url])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(`^${place} cannot be used as a directory: `),
    });
  const outcome = await millrace(["restore", "s3://", "--check"]);
  expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a valid backup location") });
});
