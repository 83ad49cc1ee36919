import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findAccessGaps } from "../../src/stores/access.ts";
import { openDatabase, type Db } from "../../src/stores/db.ts";
import { migrate, migrationsIn } from "../../src/stores/migrate.ts";
import { fillBeforeBaseline } from "../support/before-baseline.ts";
import { administer, cloneDatabase, emptyDatabase } from "../support/database.ts";
import { bareServer, MIGRATIONS } from "../support/own-postgres.ts";
import { scratchDirectory } from "../support/scratch.ts";

const files = await migrationsIn(MIGRATIONS);

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

it("each migration has a unique number", () => {
  const numbers = files.map((name) => name.slice(0, 4));
  expect(numbers.filter((number, index) => number === numbers[index - 1])).toEqual([]);
});

it("one of several concurrent migrators applies everything, and the others find it done", async () => {
  const url = await empty();
  const outcomes = await Promise.all(Array.from({ length: 4 }, () => migrate(url, MIGRATIONS)));
  expect(outcomes.map(({ applied }) => applied.length).toSorted((a, b) => a - b)).toEqual([0, 0, 0, files.length]);
});

it("an index that is built concurrently is rebuilt if its build was interrupted", async () => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  const later = scratchDirectory();
  cpSync(MIGRATIONS, later, { recursive: true });
  const name = "9000_indexes.sql";
  const build = (index: string, column: string) =>
    `create index concurrently if not exists ${index} on runs (${column});`;
  writeFileSync(
    join(later, name),
    `-- Outside a transaction\n${build("broken_idx", "updated_at")}\n${build("whole_idx", "started_at")}\n`,
  );
  expect((await migrate(url, later)).applied).toEqual([name]);
  const sql = "select indexrelid::regclass::text as name from pg_index where not indisvalid";
  const invalid = () => asked(url, (db) => db.query(sql));
  await administer(url, "update pg_index set indisvalid = false where indexrelid = 'broken_idx'::regclass");
  await administer(url, `delete from migrations where name = '${name}'`);
  expect(await invalid()).toEqual([{ name: "broken_idx" }]);
  const others = () => asked(url, (db) => db.query("select 'whole_idx'::regclass::oid::int as oid"));
  const before = await others();
  expect((await migrate(url, later)).applied).toEqual([name]);
  expect(await invalid()).toEqual([]);
  expect(await others()).toEqual(before);
  expect((await migrate(url, later)).applied).toEqual([]);
});

it("no migration after the baseline blocks writes to runs while it builds an index", () => {
  const indexesIn = (chosen: readonly string[]) =>
    chosen.flatMap(
      (name) => readFileSync(join(MIGRATIONS, name), "utf8").match(/create (unique )?index [^(]* on runs /g) ?? [],
    );
  expect(indexesIn(files.filter((name) => name < "0191")).length).toBeGreaterThan(20);
  const later = indexesIn(files.filter((name) => name >= "0191"));
  expect(later.filter((each) => !each.includes(" concurrently "))).toEqual([]);
});

it("migrations create every policy and grant", async () => {
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
])(
  "a missing policy, grant or row-level security is named and restored, whatever the version: %s",
  async (what, fault) => {
    const { url, drop } = await cloneDatabase();
    onTestFinished(drop);
    await administer(url, fault);
    expect((await gaps(url)).map((gap) => gap.what)).toEqual([what]);
    expect(await migrate(url, MIGRATIONS)).toEqual({ applied: [], mended: [what] });
    expect(await gaps(url)).toEqual([]);
  },
);

it("a dump of an older version restored without its roles can be migrated", async () => {
  const server = await bareServer("sesame");
  onTestFinished(() => server.close());
  await administer(server.admin, "create role millrace login createrole password 'sesame'");
  await administer(server.admin, "create database millrace owner millrace");
  await fillBeforeBaseline(server.url);
  // As after restoring a dump without the roles and their privileges.
  await administer(server.url, "drop owned by millrace_app, millrace_search");
  await administer(server.admin, "drop role millrace_app, millrace_search");
  const { applied, mended } = await migrate(server.url, MIGRATIONS);
  const replaced = await migrationsIn(join(MIGRATIONS, "before-baseline"));
  expect(applied).toEqual([...replaced, ...files.filter((file) => file >= "0191")]);
  expect(mended).toEqual(
    expect.arrayContaining(["role millrace_app", "role millrace_search", "policy org_rows on runs"]),
  );
  expect(await gaps(server.url)).toEqual([]);
});

it("an unknown policy is named with the statement that removes it, and is not removed", async () => {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  await administer(url, "create policy everybody on runs to millrace_app using (true)");
  expect((await migrate(url, MIGRATIONS)).mended).toEqual([]);
  const [gap, ...others] = await gaps(url);
  expect([gap?.what, others]).toEqual(["policy everybody on runs, which Millrace did not create", []]);
  await administer(url, gap?.statement ?? "");
  expect(await gaps(url)).toEqual([]);
});
