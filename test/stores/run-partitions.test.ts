import { Client } from "pg";
import { uuidv7 } from "uuidv7";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { firstIdOf } from "../../src/domain/uuid.ts";
import { findAccessGaps } from "../../src/stores/access.ts";
import { openDatabase, type Database } from "../../src/stores/db.ts";
import { migrate } from "../../src/stores/migrate.ts";
import { setRetention } from "../../src/stores/system/retention.ts";
import { dropPartition, makePartition, PARTITIONED } from "../../src/stores/runs/run-partitions.ts";
import { purgeRuns } from "../../src/stores/runs/run-retention.ts";
import { cloneDatabase } from "../support/database.ts";
import { MIGRATIONS } from "../support/own-postgres.ts";
import { buildEarlierRun, buildProject, buildRun, buildTenant, type Tenant } from "./rows.ts";

const DAY = 86_400_000;
const WEEK = 7 * DAY;
/** Any Monday, because partitions begin on Mondays. */
const MONDAY = Date.parse("2024-01-01T00:00:00Z");
const monday = (weeks: number): number => MONDAY + (Math.floor((Date.now() - MONDAY) / WEEK) + weeks) * WEEK;
/** A run ID with this timestamp and a unique end. */
const idAt = (ms: number): string => `${firstIdOf(ms).slice(0, 14)}${uuidv7().slice(14)}`;
const ANY_TIME = "f47ac10b-58cc-4372-a567-0e02b2c3d479";

let url: string;
let database: Database;
let tenant: Tenant;

async function open(): Promise<void> {
  const clone = await cloneDatabase();
  url = clone.url;
  database = openDatabase({ url, poolSize: 4, applicationName: "test", onError: () => undefined });
  onTestFinished(async () => {
    await database.close();
    await clone.drop();
  });
  tenant = await buildTenant(database);
}

const query = <Row extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []): Promise<Row[]> =>
  database.system((db) => db.query<Row>(sql, values));

/** Replaces the first partitions by weekly ones, as they are long after the migration. `from` and `to` are weeks relative to now. */
async function haveWeeks(from: number, to: number): Promise<void> {
  for (const table of PARTITIONED) {
    await query(`drop table ${table}_first`);
    for (let week = from; week < to; week += 1)
      await query(
        `create table ${nameOf(table, week)} partition of ${table}
          for values from ('${firstIdOf(monday(week))}') to ('${firstIdOf(monday(week + 1))}')`,
      );
  }
}

const nameOf = (table: string, week: number): string =>
  `${table}_${new Date(monday(week)).toISOString().slice(0, 10).replaceAll("-", "")}`;

/** Writes the records of a run. */
async function record(run_id: string, seq = 1): Promise<void> {
  await query("insert into run_events (run_id, seq, org_id, type, at, data) values ($1, $2, $3, 't', now(), '{}')", [
    run_id,
    seq,
    tenant.org_id,
  ]);
  await query(
    "insert into node_runs (run_id, path, org_id, node_id, type, state) values ($1, $2, $3, 'n', 'llm', 'COMPLETED')",
    [run_id, `p${seq}`, tenant.org_id],
  );
  await query("insert into agent_steps (run_id, path, org_id, answer) values ($1, $2, $3, '{}')", [
    run_id,
    `p${seq}`,
    tenant.org_id,
  ]);
}

/** A run with records, created at this time; finished at the same time, at `endedAt`, or not at all. */
async function runOf(at: number, endedAt: number | null = at, of: Tenant = tenant, run_id = idAt(at)): Promise<string> {
  await buildEarlierRun(database, of, run_id);
  await record(run_id);
  if (endedAt !== null)
    await query("update runs set state = 'COMPLETED', created_at = $2, finished_at = $3 where run_id = $1", [
      run_id,
      new Date(at),
      new Date(endedAt),
    ]);
  return run_id;
}

/** The partitions that have rows of a run. */
async function placesOf(runId: string): Promise<string[]> {
  const rows = await query<{ place: string }>(
    PARTITIONED.map((table) => `select tableoid::regclass::text as place from ${table} where run_id = $1`).join(
      " union all ",
    ),
    [runId],
  );
  return rows.map(({ place }) => place);
}

/** The partitions that an executed plan has read. */
const readIn = (plan: string): string[] => [
  ...new Set([...plan.matchAll(/ on (\w+)/g)].map(([, name = ""]) => name.replace(/_pkey$/, ""))),
];

async function partitions(): Promise<string[]> {
  const rows = await query<{ name: string }>(
    "select relname as name from pg_class where relispartition and relkind = 'r' order by 1",
  );
  return rows.map(({ name }) => name);
}

const drop = (days: number | null): Promise<boolean> => database.system((db) => dropPartition(db, days));
async function dropAll(days: number | null): Promise<number> {
  for (let dropped = 0; ; dropped += 1) if (!(await drop(days))) return dropped;
}
async function purgeAll(days: number | null): Promise<number> {
  for (let purged = 0; ;) {
    const some = await database.system((db) => purgeRuns(db, days, 10));
    purged += some;
    if (some < 10) return purged;
  }
}

describe("partitions of run records", () => {
  beforeEach(open);

  it("are created four weeks ahead, each of one or four weeks, without gaps", async () => {
    const make = (days: number | null): Promise<boolean> => database.system((db) => makePartition(db, days));
    // After the migration, the first partition extends far enough.
    expect(await make(30)).toBe(false);
    await haveWeeks(-1, 1);
    const made = async (days: number | null): Promise<number> => {
      for (let count = 0; ; count += 1) if (!(await make(days))) return count;
    };
    expect(await made(180)).toBe(3 * 4);
    const names = await partitions();
    for (const table of PARTITIONED)
      for (let week = -1; week < 5; week += 1) expect(names).toContain(nameOf(table, week));
    const inside = await runOf(monday(2) - 1, null);
    const boundary = await runOf(monday(2), null, tenant, firstIdOf(monday(2)));
    expect(await placesOf(inside)).toEqual(PARTITIONED.map((table) => nameOf(table, 1)));
    expect(await placesOf(boundary)).toEqual(PARTITIONED.map((table) => nameOf(table, 2)));

    for (const table of PARTITIONED) for (let week = 1; week < 5; week += 1) await query(`delete from ${table}`);
    await query(PARTITIONED.map((table) => `drop table ${nameOf(table, 4)}, ${nameOf(table, 3)}`).join("; "));
    await made(null);
    const widths = await query<{ days: number }>(
      "select extract(epoch from run_time(upper) - run_time(lower))::int / 86400 as days from run_partitions() where upper = (select max(upper::text)::uuid from run_partitions())",
    );
    // The first one ends at the next multiple of four weeks.
    expect(widths.every(({ days }) => days % 7 === 0 && days <= 28)).toBe(true);
    expect(widths.length).toBe(PARTITIONED.length);
  });

  it("accept rows of any time: rows without a partition go to the one for others, and new partitions follow", async () => {
    await haveWeeks(-9, -6);
    const late = await runOf(monday(-4) + DAY, null);
    const any = await runOf(Date.now(), null, tenant, ANY_TIME);
    for (const id of [late, any]) expect(await placesOf(id)).toEqual(PARTITIONED.map((table) => `${table}_other`));
    while (await database.system((db) => makePartition(db, 30)));
    const names = await partitions();
    expect(names).not.toContain(nameOf("run_events", -4));
    expect(names).toEqual(expect.arrayContaining([-5, -3, 0, 4].map((week) => nameOf("run_events", week))));
    expect(await placesOf(await runOf(Date.now()))).toEqual(PARTITIONED.map((table) => nameOf(table, 0)));
  });

  it("show an organisation only its own rows, read through the table or through the partition", async () => {
    await haveWeeks(-1, 0);
    while (await database.system((db) => makePartition(db, 30)));
    const other = await buildTenant(database);
    const run_id = await runOf(Date.now(), null);
    await runOf(Date.now() - WEEK, null, tenant);
    await runOf(Date.now(), null, tenant, ANY_TIME);
    const gaps = await database.system(findAccessGaps);
    // `migrate` repairs what a restore may leave without access rights.
    expect(gaps.every(({ what }) => PARTITIONED.some((table) => what.includes(nameOf(table, -1))))).toBe(true);
    await migrate(url, MIGRATIONS);
    expect(await database.system(findAccessGaps)).toEqual([]);
    const made = (await partitions()).filter((name) => PARTITIONED.every((table) => name !== nameOf(table, -1)));
    expect(made).toEqual(expect.arrayContaining(PARTITIONED.flatMap((table) => [nameOf(table, 0), `${table}_other`])));
    const see = (of: Tenant, name: string): Promise<unknown[]> =>
      database.org(of.org_id, (db) => db.query(`select 1 from ${name}`));
    for (const name of [...PARTITIONED, ...made]) expect(await see(other, name), name).toEqual([]);
    for (const name of PARTITIONED) expect(await see(tenant, name), name).toHaveLength(3);
    for (const place of await placesOf(run_id)) expect(await see(tenant, place)).toHaveLength(1);
    const theirs = database.org(other.org_id, (db) =>
      db.query("insert into run_events (run_id, seq, org_id, type, at, data) values ($1, 9, $2, 't', now(), '{}')", [
        run_id,
        tenant.org_id,
      ]),
    );
    await expect(theirs).rejects.toThrow(/row-level security/);
    for (const statement of ["make_run_partition(1)", "drop_run_partition(1)"])
      await expect(database.org(tenant.org_id, (db) => db.query(`select ${statement}`))).rejects.toThrow(
        /permission denied/,
      );
  });

  it("are read and written one at a time by the statements of one run", async () => {
    await haveWeeks(-9, 1);
    const run_id = await runOf(Date.now() - 2 * WEEK);
    for (const table of PARTITIONED) {
      const rows = await database.org(tenant.org_id, (db) =>
        db.query<{ "QUERY PLAN": string }>(
          `explain (analyze, costs off) select * from ${table} where run_id = '${run_id}'`,
        ),
      );
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(readIn(plan), plan).toEqual([nameOf(table, -2)]);
      expect(plan).toContain(`${nameOf(table, -2)}_pkey`);
      expect(plan).not.toContain("Seq Scan");
    }
    // The plan is made once per connection and must suit any run, as in production.
    await database.system(async (db) => {
      await db.query(
        "prepare one (uuid) as select * from run_events where run_id = $1 and seq > 0 order by seq limit 10",
      );
      const rows = await db.query<{ "QUERY PLAN": string }>(`explain (analyze, costs off) execute one ('${run_id}')`);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(readIn(plan), plan).toEqual([nameOf("run_events", -2)]);
      expect(plan).toMatch(/Subplans Removed: 10/);
    });
  });

  it("without row-level security are reported with the statement that fixes them", async () => {
    await query("alter table node_runs_first disable row level security");
    const gaps = await database.system(findAccessGaps);
    expect(gaps.map(({ what }) => what)).toEqual(["row-level security of node_runs_first"]);
    await query(gaps[0]?.statement ?? "");
    expect(await database.system(findAccessGaps)).toEqual([]);
  });

  it("are dropped whole when all of their runs have passed the retention period, and not before", async () => {
    await haveWeeks(-9, 1);
    const runs = new Map<number, string>();
    for (let week = -9; week <= 0; week += 1) runs.set(week, await runOf(monday(week)));
    const due = (week: number): boolean => monday(week + 1) + DAY <= Date.now() - 30 * DAY;
    const expected = [...runs.keys()].filter(due);
    expect(expected.length).toBeGreaterThan(3);
    expect(await dropAll(null)).toBe(0);
    expect(await dropAll(30)).toBe(expected.length * PARTITIONED.length);
    const names = await partitions();
    for (const [week, id] of runs) {
      const there = PARTITIONED.map((table) => nameOf(table, week));
      expect(await placesOf(id)).toEqual(due(week) ? [] : there);
      for (const name of there) expect(names.includes(name)).toBe(!due(week));
    }
    // Their own rows are purged, and runs that wait for their partition stay.
    expect(await purgeAll(30)).toBe(expected.length);
    expect(await dropAll(30)).toBe(0);
    const left = await query<{ run_id: string }>("select run_id from runs order by run_id");
    expect(left.map(({ run_id }) => run_id)).toEqual([...runs].filter(([week]) => !due(week)).map(([, id]) => id));
  });

  it("are kept while one of their runs is unfinished, finished late, was resumed or has a child run", async () => {
    await haveWeeks(-9, 1);
    const old = [-9, -8, -7, -6].map((week) => monday(week) + DAY);
    const [open, late, resumed, parent] = [
      await runOf(old[0] ?? 0, null),
      await runOf(old[1] ?? 0, Date.now() - 20 * DAY),
      await runOf(old[2] ?? 0),
      await runOf(old[3] ?? 0),
    ];
    const resuming = await buildRun(database, tenant, { resumed_from: { run_id: resumed, at: "now" } as never });
    const child = await buildRun(database, tenant, { parent_run_id: parent });
    const empty = [-5, -4, -3, -2].length * PARTITIONED.length;
    expect(await dropAll(7)).toBeGreaterThanOrEqual(empty - PARTITIONED.length);
    for (const [index, id] of [open, late, resumed, parent].entries())
      expect(await placesOf(id), String(index)).toEqual(
        index === 1 ? [] : PARTITIONED.map((table) => nameOf(table, index - 9)),
      );
    expect(await dropAll(7)).toBe(0);
    for (const id of [open, resuming, child])
      await query("update runs set state = 'COMPLETED', finished_at = now() - interval '20 days' where run_id = $1", [
        id,
      ]);
    // One of the runs finished 20 days ago, long after its own week.
    expect(await dropAll(21)).toBe(2 * PARTITIONED.length);
    expect(await placesOf(open)).toHaveLength(PARTITIONED.length);
    expect(await dropAll(19)).toBe(PARTITIONED.length);
    expect(await placesOf(open)).toEqual([]);
  });

  it("lose rows of shorter retention one by one and are dropped when empty, also if runs are kept forever", async () => {
    await haveWeeks(-9, 1);
    const short = { ...tenant, project_id: await buildProject(database, tenant.org_id) };
    await database.org(tenant.org_id, (db) => setRetention(db, short.project_id, 3));
    const [gone, kept, alone] = [await runOf(monday(-4)), await runOf(monday(-4)), await runOf(monday(-3))];
    await query("update runs set project_id = $1 where run_id = any ($2)", [short.project_id, [gone, alone]]);
    for (const days of [null, 365]) {
      const empty = [-9, -8, -7, -6, -5, -2, -1].filter((week) => monday(week + 1) + DAY <= Date.now());
      expect(await dropAll(days)).toBe(days === null ? empty.length * PARTITIONED.length : 0);
      for (const id of [gone, kept, alone]) expect(await placesOf(id)).toHaveLength(PARTITIONED.length);
    }
    expect(await purgeAll(null)).toBe(2);
    expect([await placesOf(gone), await placesOf(alone)]).toEqual([[], []]);
    expect(await dropAll(null)).toBe(PARTITIONED.length);
    expect(await placesOf(kept)).toEqual(PARTITIONED.map((table) => nameOf(table, -4)));
    const names = await partitions();
    expect(names).not.toContain(nameOf("run_events", -3));
    // More rows of a run may still arrive.
    const after = await runOf(monday(-3), null);
    expect(await placesOf(after)).toEqual(PARTITIONED.map((table) => `${table}_other`));
  });

  it("lose runs of shorter retention one by one; other runs wait at most a day beyond their partition", async () => {
    await haveWeeks(-9, 1);
    const [first, recent] = [await runOf(monday(-6)), await runOf(monday(-3))];
    const open = await runOf(monday(-6), null);
    /** Days since the partition of a week ended, rounded down. */
    const endOf = (week: number): number => Math.floor((Date.now() - monday(week + 1)) / DAY);
    expect(await purgeAll(endOf(-6))).toBe(0);
    // The partition cannot be dropped because of the unfinished run; two days after its end, purging no longer waits for it.
    expect(await purgeAll(endOf(-6) - 2)).toBe(1);
    expect([await placesOf(first), await placesOf(recent)]).toEqual([[], expect.arrayContaining([expect.anything()])]);
    expect(endOf(-3)).toBeLessThan(28);
    expect(await purgeAll(endOf(-3))).toBe(1);
    expect(await placesOf(recent)).toEqual([]);
    expect(await placesOf(open)).toHaveLength(PARTITIONED.length);
  });

  it("give up and retry later rather than block writes of others", async () => {
    await haveWeeks(-9, -1);
    const old = await runOf(monday(-9));
    const client = new Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("begin");
    await client.query("select from run_events limit 1");
    await client.query("select from node_runs limit 1");
    await client.query("select from agent_steps limit 1");
    const began = Date.now();
    expect([await drop(30), await database.system((db) => makePartition(db, 30))]).toEqual([false, false]);
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(await placesOf(old)).toHaveLength(PARTITIONED.length);
    await client.query("commit");
    expect([await drop(30), await database.system((db) => makePartition(db, 30))]).toEqual([true, true]);
  });

  it("are dropped without a lock that blocks writes of runs", async () => {
    await haveWeeks(-9, 1);
    await runOf(monday(-9));
    const client = new Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    // The lock of a process that is writing a run's state.
    await client.query("begin");
    await client.query("lock table runs in row exclusive mode");
    expect(await drop(30)).toBe(true);
    await client.query("commit");
  });
});
