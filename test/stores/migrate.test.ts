import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findAccessGaps } from "../../src/stores/access.ts";
import { openDatabase } from "../../src/stores/db.ts";
import type { Db } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { administer, cloneDatabase, emptyDatabase } from "../support/database.ts";
import { bareServer, MIGRATIONS } from "../support/own-postgres.ts";
import { scratchDirectory } from "../support/scratch.ts";

const files = readdirSync(MIGRATIONS).toSorted();

async function empty(): Promise<string> {
  const { url, drop } = await emptyDatabase();
  onTestFinished(drop);
  return url;
}

async function asked<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, poolSize: 2, applicationName: "test", onError: () => undefined });
  try {
    return await database.system(work);
  } finally {
    await database.close();
  }
}

const gaps = (url: string) => asked(url, findAccessGaps);

it("each migration has a number of its own", () => {
  const numbers = files.map((name) => name.slice(0, 4));
  expect(numbers.filter((number, index) => number === numbers[index - 1])).toEqual([]);
});

it("one of several concurrent migrators applies everything, and the others find it done", async () => {
  const url = await empty();
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => migrate(url, MIGRATIONS)));
  expect(outcomes.map(({ applied }) => applied.length).toSorted((a, b) => a - b)).toEqual([0, 0, 0, files.length]);
});

it("an index that is built while others write is built anew where that was broken off", async () => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  const sql = "select indexrelid::regclass::text as name from pg_index where not indisvalid";
  const invalid = () => asked(url, (db) => db.query(sql));
  await administer(url, "update pg_index set indisvalid = false where indexrelid = 'runs_late_idx'::regclass");
  const name = "0075_indexes_of_runs.sql";
  await administer(url, `delete from migrations where name = '${name}'`);
  expect(await invalid()).toEqual([{ name: "runs_late_idx" }]);
  const others = () => asked(url, (db) => db.query("select 'runs_dataset_row_idx'::regclass::oid::int as oid"));
  const before = await others();
  expect((await migrate(url, MIGRATIONS)).applied).toEqual([name]);
  expect(await invalid()).toEqual([]);
  expect(await others()).toEqual(before);
  expect((await migrate(url, MIGRATIONS)).applied).toEqual([]);
});

it("no migration that is new since 0.1.0 keeps runs from being written while it makes an index", () => {
  const texts = files.filter((name) => name >= "0068").map((name) => readFileSync(join(MIGRATIONS, name), "utf8"));
  const indexes = texts.flatMap((text) => text.match(/create (unique )?index [^(]* on runs /g) ?? []);
  expect(indexes.length).toBeGreaterThan(0);
  expect(indexes.filter((each) => !each.includes(" concurrently "))).toEqual([]);
});

it("migrations make every policy and grant", async () => {
  const url = await empty();
  expect(await migrate(url, MIGRATIONS)).toEqual({ applied: files, mended: [] });
  expect(await gaps(url)).toEqual([]);
});

it.each([
  ["policy org_rows on runs", "drop policy org_rows on runs"],
  ["policy org_rows on runs", "alter policy org_rows on runs using (true)"],
  ["policy org_rows on runs", "alter policy org_rows on runs with check (true)"],
  ["policy org_rows on runs", "alter policy org_rows on runs to public"],
  ["policy org_rows on knowledge_postings", "alter policy org_rows on knowledge_postings using (index_no > 0)"],
  ["policy searched_rows on knowledge_chunks", "drop policy searched_rows on knowledge_chunks"],
  ["row-level security of users", "alter table users disable row level security"],
  ["insert, delete on projects for millrace_app", "revoke insert, delete on projects from millrace_app"],
  ["select on knowledge_bases for millrace_search", "revoke select on knowledge_bases from millrace_search"],
])("what is missing is named and made anew, whatever the version: %s", async (what, fault) => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  await administer(url, fault);
  expect((await gaps(url)).map((gap) => gap.what)).toEqual([what]);
  expect(await migrate(url, MIGRATIONS)).toEqual({ applied: [], mended: [what] });
  expect(await gaps(url)).toEqual([]);
});

it("a dump of an older version that was restored without its roles is migrated all the same", async () => {
  const server = await bareServer("sesame");
  onTestFinished(() => server.close());
  await administer(server.admin, "create role millrace login createrole password 'sesame'");
  await administer(server.admin, "create database millrace owner millrace");
  const older = scratchDirectory();
  for (const name of files.filter((file) => file < "0043")) cpSync(join(MIGRATIONS, name), join(older, name));
  await migrate(server.url, older);
  // What is left in a dump of what roles had.
  await administer(server.url, "drop owned by millrace_app, millrace_search");
  await administer(server.admin, "drop role millrace_app, millrace_search");
  const { applied, mended } = await migrate(server.url, MIGRATIONS);
  expect(applied).toEqual(files.filter((file) => file >= "0043"));
  expect(mended).toEqual(
    expect.arrayContaining(["role millrace_app", "role millrace_search", "policy org_rows on runs"]),
  );
  expect(await gaps(server.url)).toEqual([]);
});

it("a policy that is not ours is named, with what removes it, and left", async () => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  await administer(url, "create policy everybody on runs to millrace_app using (true)");
  expect((await migrate(url, MIGRATIONS)).mended).toEqual([]);
  const [gap, ...others] = await gaps(url);
  expect([gap?.what, others]).toEqual(["policy everybody on runs, which is not ours", []]);
  await administer(url, gap?.statement ?? "");
  expect(await gaps(url)).toEqual([]);
});
