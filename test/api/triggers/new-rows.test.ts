import { setTimeout as delay } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../src/config.ts";
import type { Credential } from "../../../src/domain/providers/connection.ts";
import { createGuardedSockets } from "../../../src/platform/fetch/guarded-sockets.ts";
import type { ResolvedConnection } from "../../../src/services/providers/resolve-connection.ts";
import { pollTrigger, type PollDeps } from "../../../src/services/triggers/poll.ts";
import type { Database } from "../../../src/stores/db.ts";
import { connectTemporal } from "../../../src/temporal/connection.ts";
import { triggerScheduleId } from "../../../src/temporal/ids.ts";
import { administer, cloneDatabase, testDatabase } from "../../support/database.ts";
import { eventually } from "../../support/scratch.ts";
import { echo, openTenant, type ApiTenant } from "../tenant.ts";
import { buildTenant } from "../../stores/rows.ts";
import { places } from "../webhooks/webhooks.ts";
import { dataConverter } from "../../support/payloads.ts";

let mine: ApiTenant;
let remote: Awaited<ReturnType<typeof cloneDatabase>>;
let temporal: Awaited<ReturnType<typeof connectTemporal>>;
let credential: Credential;
let connection_id: string;
let connection: Pick<ResolvedConnection, "credential" | "secrets" | "accepted" | "rejected"> & { provider: object };
beforeAll(async () => {
  [mine, remote] = await Promise.all([openTenant(), cloneDatabase()]);
  const { temporalAddress, databaseUrl } = mine.target;
  temporal = await connectTemporal(
    loadConfig({ DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress }),
    dataConverter,
  );
  const { hostname, port, username, password, pathname } = new URL(remote.url);
  const own = { host: hostname, port: Number(port), database: pathname.slice(1), username, tls: "off" };
  credential = { ...own, password: decodeURIComponent(password) || "none" };
  const nothing = async () => undefined;
  const provider = { provider_id: "postgres" };
  connection = { provider, credential, secrets: [], accepted: nothing, rejected: nothing };
  const { body } = await mine.secret.post("/v2/connections", { name: "db", provider_id: "postgres", credential });
  connection_id = body.connection_id;
  await administer(remote.url, 'create schema "my shop"');
  await administer(remote.url, "create table orders (id int8, at timestamptz default now(), note text)");
  // If the values were compared as text, "9" would be greater than "12".
  await administer(remote.url, "insert into orders (id, note) values (9, 'old'), (null, 'none'), (12, 'old')");
});
afterAll(async () => {
  await temporal?.close();
  await remote?.drop();
});

const wanted = async (config: object) => ({
  project_id: await mine.deploy(echo()),
  provider_id: "postgres",
  trigger_id: "postgres.new_rows",
  config: { connection_id, table: "orders", ...config },
  inputs: { "in-0": "payload.row" },
});

async function create(config: object, inputs?: object): Promise<string> {
  const { status, body } = await mine.secret.post("/v2/triggers", { ...(await wanted(config)), ...inputs });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}
/** Creates an empty table, even when a test is repeated. */
const recreate = (table: string, columns: string): Promise<unknown> =>
  administer(remote.url, `drop table if exists ${table}; create table ${table} (${columns})`);
/** Time of the last trigger of a schedule. */
let triggered = 0;
async function poll(id: string): Promise<void> {
  const schedule = temporal.client.schedule.getHandle(triggerScheduleId(id));
  const info = async () => (await schedule.describe()).info;
  await eventually("the end of the poll before", async () => (await info()).runningActions.length === 0);
  for (let taken = false; !taken;) {
    const before = await info();
    // Temporal derives the workflow ID from the second, so a second workflow in the same second does not start.
    await delay(Math.max(0, triggered + 1000 - Date.now()));
    triggered = Date.now();
    await schedule.trigger();
    // The schedule may learn late that the last poll has finished; until then it skips this one.
    const outcome = await eventually("the poll, or that it is skipped", async () => {
      const { numActionsTaken, numActionsSkippedOverlap } = await info();
      if (numActionsTaken > before.numActionsTaken) return "taken";
      return numActionsSkippedOverlap > before.numActionsSkippedOverlap ? "skipped" : undefined;
    });
    taken = outcome === "taken";
  }
}
/** Polls a trigger here, with this connection. */
async function pollWith(db: Database, orgId: string, id: string, resolve: () => Promise<unknown>): Promise<void> {
  const sockets = createGuardedSockets({ allow: ["loopback"] });
  const deps = { db, sockets, connections: { resolve } } as unknown as PollDeps;
  await pollTrigger(deps, orgId, id, new AbortController().signal);
}
const query = (sql: string, id: string): Promise<Record<string, unknown>[]> =>
  mine.withDatabase((db) => db.system((connection) => connection.query(sql, [id])));
const seen = async (id: string): Promise<unknown> =>
  ((await query("select seen from triggers where id = $1", id))[0]?.["seen"] as { value: unknown } | null)?.value;
const firings = (id: string) => query("select run_id, key from trigger_firings where trigger_id = $1", id);

it(
  "starts one run for each new row, however often and by whichever worker it is polled",
  { timeout: 120_000 },
  async () => {
    const id = await create({});
    await poll(id);
    await eventually("the rows there are", async () => (await seen(id)) === "12");
    expect(await firings(id)).toEqual([]);
    // Some of the rows are identical.
    await administer(remote.url, "insert into orders (id, note) select n, 'new' from generate_series(13, 16) n");
    await administer(
      remote.url,
      "insert into orders (id, at, note) values (17, '2026-01-01', 'x'), (17, '2026-01-01', 'x')",
    );
    await poll(id);
    await eventually("all rows", async () => (await seen(id)) === "17");
    await poll(id);
    await administer(remote.url, "insert into orders (id, note) values (18, 'last'), (null, 'none')");
    await poll(id);
    await eventually("the last row", async () => (await seen(id)) === "18");
    const found = await firings(id);
    expect(found).toHaveLength(7);
    const runs = await eventually("their runs", async () => {
      const text = "select state, inputs::text as inputs from runs where ran_by_id = $1 order by created_at";
      const rows = await query(text, id);
      return rows.length === 7 && rows.every(({ state }) => state === "COMPLETED") ? rows : undefined;
    });
    const started = runs.map(({ inputs }) => Number(/\bid\W+(\d+)/.exec(String(inputs))?.[1]));
    expect(started).toEqual([13, 14, 15, 16, 17, 17, 18]);
  },
);

it("continues with the next page if there are many new rows, and queues each of them once, in order", async () => {
  // No worker starts their runs.
  const { database, close } = await testDatabase();
  onTestFinished(close);
  const { org_id, project_id } = await buildTenant(database);
  const id = uuidv7();
  const config = { connection_id: uuidv7(), table: "parcels", column: "no" };
  await database.system((db) =>
    db.query(
      `insert into triggers (id, org_id, project_id, provider_id, trigger_id, kind, config)
        values ($1, $2, $3, 'postgres', 'postgres.new_rows', 'poll', $4)`,
      [id, org_id, project_id, JSON.stringify(config)],
    ),
  );
  const ask = (sql: string) => database.system((db) => db.query<Record<string, unknown>>(sql, [id]));
  const pollNow = async () => {
    await pollWith(database, org_id, id, async () => connection);
    return (await ask("select seen from triggers where id = $1"))[0]?.["seen"];
  };
  await recreate("parcels", "no int8, note int, label text");
  expect(await pollNow()).toEqual({ value: null });
  // Seven rows per number, so that equal values cross the end of a page. Each poll reads ten pages.
  const numbered = "select (n + 6) / 7, n, '' from generate_series(1, 1260) n order by random()";
  await administer(remote.url, `insert into parcels ${numbered}`);
  expect(await pollNow()).toEqual({ value: "150" });
  expect(await pollNow()).toEqual({ value: "180" });
  // Together these rows are longer than a response may be.
  const long = "select n, n, repeat('x', 240000) from generate_series(1261, 1290) n";
  await administer(remote.url, `insert into parcels ${long}`);
  expect(await pollNow()).toEqual({ value: "1290" });
  const queued = await ask(
    `select (payload->'row'->>'no')::int as no, (payload->'row'->>'note')::int as note
      from trigger_firings where trigger_id = $1 and state = 'pending' order by due_at, run_id`,
  );
  const [numbers, notes] = ["no", "note"].map((column) => queued.map((each) => Number(each[column])));
  expect(numbers).toEqual(numbers?.toSorted((a, b) => a - b));
  expect(notes?.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1290 }, (_, index) => index + 1));
});

it("reports why it can read no rows, and starts with the first row of an empty table", async () => {
  await recreate('"my shop".visits', "at timestamptz");
  const refused = await mine.secret.post("/v2/triggers", await wanted({ table: "my shop.visits" }));
  expect(places(refused)).toEqual([["body", "config", "table"]]);
  await recreate("visits", "at timestamptz");
  const id = await create({ table: "public.visits", column: "at" });
  await poll(id);
  await eventually(
    "an empty table",
    async () =>
      (await seen(id)) === null &&
      (await query("select seen from triggers where id = $1 and seen is not null", id)).length === 1,
  );
  await administer(remote.url, "insert into visits values ('2026-01-01 00:00:00.123456+00'), (null)");
  await poll(id);
  await eventually("its first row", async () => (await seen(id)) === "2026-01-01 00:00:00.123456+00");
  expect(await firings(id)).toHaveLength(1);
  await administer(remote.url, "drop table visits");
  await poll(id);
  const error = await eventually(
    "the error",
    async () => (await mine.secret.get(`/v2/triggers/${id}`)).body.last_error ?? undefined,
  );
  expect(error).toContain("42P01");
});

it("stores no position of a table that the trigger stops watching during a poll", async () => {
  await recreate("former", "id int8");
  await recreate("present", "id int8");
  await administer(remote.url, "insert into former values (100)");
  const id = await create({ table: "former" });
  // The configuration changes between reading the trigger and reading the table.
  const resolve = async () => {
    const config = { connection_id, table: "present" };
    expect((await mine.secret.patch(`/v2/triggers/${id}`, { config })).status).toBe(200);
    return connection;
  };
  await mine.withDatabase((db) => pollWith(db, mine.org_id, id, resolve));
  expect(await seen(id)).toBeUndefined();
});

it("prevents its connection from being deleted", async () => {
  const { body } = await mine.secret.post("/v2/connections", { name: "kept", provider_id: "postgres", credential });
  const path = `/v2/connections/${body.connection_id}`;
  const id = await create({ connection_id: body.connection_id });
  const refused = await mine.secret.delete(path);
  expect([refused.status, refused.body.code, refused.body.used_by]).toEqual([
    409,
    "in_use",
    [{ id, project_id: expect.any(String) }],
  ]);
  expect((await mine.secret.delete(`/v2/triggers/${id}`)).status).toBe(204);
  expect((await mine.secret.delete(path)).status).toBe(204);
});

it("requires a connection of its provider", async () => {
  const others = await openTenant();
  const theirs = { ...(await wanted({})), project_id: await others.deploy(echo()) };
  expect(places(await others.secret.post("/v2/triggers", theirs))).toEqual([["body", "config", "connection_id"]]);
  const { body: mail } = await mine.secret.post("/v2/connections", {
    name: "mail",
    provider_id: "smtp",
    scheme: "none",
    credential: { host: "127.0.0.1", port: 1 },
  });
  const id = await create({});
  const config = { table: "orders", connection_id: mail.connection_id };
  expect(places(await mine.secret.patch(`/v2/triggers/${id}`, { config }))).toEqual([
    ["body", "config", "connection_id"],
  ]);
});
