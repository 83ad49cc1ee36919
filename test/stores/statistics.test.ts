import { beforeAll, expect, it } from "vitest";
import { analyseGrownTables } from "../../src/stores/statistics.ts";
import { ownDatabase } from "./rows.ts";

const own = ownDatabase();
// Autovacuum would otherwise analyse the table during the test.
beforeAll(() => own.database.system((db) => db.query("alter table rate_limits set (autovacuum_enabled = false)")));

const fill = (rows: number) =>
  own.database.system(async (db) => {
    await db.query("insert into rate_limits (key) select gen_random_uuid() from generate_series(1, $1)", [rows]);
    // Otherwise a session reports its counts only after a delay.
    await db.query("select pg_stat_force_next_flush()");
    await db.query("select 1");
  });
const analyse = () => own.database.system(analyseGrownTables);

it("analyses tables that have grown several times over, and no others", async () => {
  expect(await analyse()).not.toContain("rate_limits");
  await fill(499);
  expect(await analyse()).not.toContain("rate_limits");
  await fill(1);
  expect(await analyse()).toContain("rate_limits");
  const [known] = await own.database.system((db) =>
    db.query<{ rows: number }>("select reltuples::int as rows from pg_class where relname = 'rate_limits'"),
  );
  expect(known).toEqual({ rows: 500 });
  await fill(1500);
  expect(await analyse()).not.toContain("rate_limits");
  await fill(1);
  expect(await analyse()).toContain("rate_limits");
});

it("skips the tables of another owner", async () => {
  await fill(9000);
  const stranger = `stranger_${process.pid}`;
  await own.database.system(async (db) => {
    await db.query(`create role ${stranger}`);
    await db.query(`set role ${stranger}`);
    try {
      expect(await analyseGrownTables(db)).toEqual([]);
    } finally {
      await db.query("reset role");
      await db.query(`drop role ${stranger}`);
    }
  });
  expect(await analyse()).toContain("rate_limits");
});
