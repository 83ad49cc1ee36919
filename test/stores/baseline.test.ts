import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { openDatabase, type Db } from "../../src/stores/db.ts";
import { compareMigrations, migrate, migrationsIn } from "../../src/stores/migrate.ts";
import { fillBeforeBaseline } from "../support/before-baseline.ts";
import { administer, cloneDatabase, emptyDatabase } from "../support/database.ts";
import { MIGRATIONS } from "../support/own-postgres.ts";

let files: string[] = [];
beforeAll(async () => {
  files = await migrationsIn(MIGRATIONS);
});

/** Everything that a dump of the schema would contain. The order of columns counts, as in a dump. */
const SCHEMA = `
  with ours as (
    select c.* from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname not like 'knowledge_vectors%'
  )
  select 'relation ' || concat_ws(' ', relname, relkind, relpersistence, reloptions::text, relrowsecurity, relforcerowsecurity,
      -- The first partition ends some weeks after the day of the migration.
      regexp_replace(pg_get_expr(relpartbound, oid), 'TO .*', ''),
      (select string_agg(a::text, ' ' order by a::text) from unnest(relacl) a)) as line from ours
  union all
  select 'column ' || concat_ws(' ', c.relname, row_number() over (partition by c.oid order by attnum), attname,
      format_type(atttypid, atttypmod), attnotnull, attgenerated, attidentity, attcollation::regcollation, attstorage,
      pg_get_expr(d.adbin, d.adrelid))
    from ours c join pg_attribute a on attrelid = c.oid and attnum > 0 and not attisdropped
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = attnum
  union all
  -- The baseline has constraints that an upgrade added without a look at the rows. Those of columns are above.
  select 'constraint ' || concat_ws(' ', c.relname, conname, replace(pg_get_constraintdef(k.oid), ' NOT VALID', ''))
    from ours c join pg_constraint k on conrelid = c.oid and contype <> 'n'
  union all
  select 'index ' || concat_ws(' ', pg_get_indexdef(c.oid), p.inhparent::regclass)
    from ours c left join pg_inherits p on p.inhrelid = c.oid where relkind in ('i', 'I')
  union all
  select 'trigger ' || pg_get_triggerdef(t.oid) from ours c join pg_trigger t on tgrelid = c.oid and not tgisinternal
  union all
  select 'policy ' || concat_ws(' ', tablename, policyname, permissive, roles::text, cmd, qual, with_check)
    from pg_policies where tablename in (select relname from ours)
  union all
  select 'function ' || pg_get_functiondef(p.oid) || coalesce(proacl::text, '') from pg_proc p
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  union all
  select 'sequence ' || concat_ws(' ', seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqcycle) from pg_sequence
  order by line`;

async function asked<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, poolSize: 1, applicationName: "test", onError: () => undefined });
  try {
    return await database.system(work);
  } finally {
    await database.close();
  }
}

async function beforeBaseline(): Promise<string> {
  const { url, drop } = await emptyDatabase();
  onTestFinished(drop);
  await fillBeforeBaseline(url);
  return url;
}

it("a database from before the baseline gets what it lacks, takes it as done, and is equal to a fresh one", async () => {
  const url = await beforeBaseline();
  const replaced = await migrationsIn(join(MIGRATIONS, "before-baseline"));
  const later = files.filter((name) => name >= "0191");
  expect((await migrate(url, MIGRATIONS)).applied).toEqual([...replaced, ...later]);
  expect(await migrate(url, MIGRATIONS)).toEqual({ applied: [], mended: [] });
  expect(await asked(url, (db) => compareMigrations(db, MIGRATIONS))).toEqual({
    applied: files.length,
    missing: [],
    unknown: [],
  });
  const fresh = await cloneDatabase();
  onTestFinished(fresh.drop);
  const schema = (of: string) => asked(of, (db) => db.column<string>(SCHEMA));
  const expected = await schema(fresh.url);
  expect(expected.length).toBeGreaterThan(1_500);
  expect(await schema(url)).toEqual(expected);
});

it("the baseline contains no rows", async () => {
  const { url, drop } = await emptyDatabase();
  onTestFinished(drop);
  await migrate(
    url,
    MIGRATIONS,
    files.filter((name) => name < "0191"),
  );
  const tables = await asked(url, (db) =>
    db.column<string>(
      "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
    ),
  );
  const rows = tables.map((name) => `select '${name}' as name from ${name}`).join(" union ");
  expect(await asked(url, (db) => db.column<string>(rows))).toEqual(["migrations"]);
});

it("a database with only some of the replaced migrations is not changed, and the error says what to do", async () => {
  const url = await beforeBaseline();
  await administer(url, "delete from migrations where name > '0079'");
  const before = await asked(url, (db) => db.column<string>(SCHEMA));
  await expect(migrate(url, MIGRATIONS)).rejects.toThrow(/last build that has migrations\/0080_order_of_actions\.sql/);
  expect(await asked(url, (db) => db.column<string>(SCHEMA))).toEqual(before);
  expect(await asked(url, (db) => compareMigrations(db, MIGRATIONS))).toEqual({
    applied: 0,
    missing: files,
    unknown: [],
  });
});

it("functions are changed only in their files, and the newest migration that includes one has its present text", () => {
  const texts = files.map((name) => readFileSync(join(MIGRATIONS, name), "utf8")).join("\n");
  const included = new Map([...texts.matchAll(/^-- sha256 (\w+)\n\\ir (\S+)$/gm)].map(([, sum, file]) => [file, sum]));
  const present = readdirSync(join(MIGRATIONS, "functions")).map((name) => {
    const text = readFileSync(join(MIGRATIONS, "functions", name));
    return [`functions/${name}`, createHash("sha256").update(text).digest("hex").slice(0, 12)] as const;
  });
  expect(texts.match(/^\\ir /gm)).toHaveLength(texts.match(/^-- sha256 \w+\n\\ir /gm)?.length ?? 0);
  const later = files.filter((name) => name >= "0191").map((name) => readFileSync(join(MIGRATIONS, name), "utf8"));
  expect(
    later.filter((text) => /\bcreate (?:or replace )?function (?!pg_temp\.)|pg_get_functiondef/.test(text)),
  ).toEqual([]);
  expect(included, "After a change of a function, add a migration that includes its file").toEqual(new Map(present));
});
