import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { openDatabase, type Database, type Db } from "../../src/stores/db.ts";
import { administer, cloneDatabase } from "../support/database.ts";

const ORG = "0197a1c4-7c5e-7d1f-9a3b-2f4e6a8c0b1d";
const login = `full_${randomBytes(4).toString("hex")}`;
const IDLE_MS = 1000;

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let database: Database;
beforeAll(async () => {
  clone = await cloneDatabase();
  await administer(
    clone.url,
    `create role ${login} login password 'sesame' in role millrace, millrace_app, millrace_search`,
  );
  const url = new URL(clone.url);
  [url.username, url.password] = [login, "sesame"];
  const onError = () => undefined;
  database = openDatabase({ url: url.href, poolSize: 6, applicationName: "full", onError, idleMs: IDLE_MS });
});
afterAll(async () => {
  await database?.close();
  await clone?.drop();
  await administer(inject("millrace").adminUrl, `drop role ${login}`);
});

const connections = () => database.pools().map(({ open }) => open);
/** As if others had used up all connections of the server, so that only superusers can connect. */
const limit = (most: number) =>
  administer(clone.url, `alter database ${new URL(clone.url).pathname.slice(1)} connection limit ${most}`);
const one = (db: Db) => db.value<number>("select 1");
const several = async (count: number) =>
  Promise.all([
    ...Array.from({ length: count }, () => database.system(one)),
    ...Array.from({ length: count }, () => database.org(ORG, one)),
    ...Array.from({ length: count }, () => database.ping()),
  ]);

it("a process keeps working with the connections it holds when others use up the server's limit", async () => {
  await database.verify();
  await several(20);
  // Unused connections are closed, except one per pool.
  await expect.poll(connections, { timeout: 20_000 }).toEqual([1, 1, 1]);
  await limit(1);
  await several(20);
  expect(connections()).toEqual([1, 1, 1]);
  await limit(-1);
  await several(20);
});

it("a process that cannot connect is not ready", async () => {
  const url = new URL(clone.url);
  [url.username, url.password] = [login, "sesame"];
  const empty = openDatabase({ url: url.href, poolSize: 6, applicationName: "full", onError: () => undefined });
  await limit(1);
  try {
    await expect(empty.ping()).rejects.toMatchObject({ code: "53300" });
  } finally {
    await limit(-1);
    await empty.close();
  }
});
