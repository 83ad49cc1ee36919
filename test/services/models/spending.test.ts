import { afterAll, beforeAll, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { COUNTED, startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { createModelCaller, type ModelCall } from "../../../src/services/models/call-model.ts";
import { quotaStatus } from "../../../src/services/accounts/quotas.ts";
import type { Db } from "../../../src/stores/db.ts";
import { countNodePlaces, takeNodePlace } from "../../../src/stores/runs/node-places.ts";
import { quotaUsage, setQuotas } from "../../../src/stores/quotas/quotas.ts";
import { insertReservation } from "../../../src/stores/models/spending.ts";
import { buildRun, buildTenant, ownDatabase, type Tenant } from "../../stores/rows.ts";

const own = ownDatabase();
let stub: ModelStub;
beforeAll(async () => {
  stub = await startModelStub();
});
afterAll(() => stub.close());

/** A call costs a dollar, and a dollar is reserved for it. */
const PRICE = { input: 0, output: 1_000_000 / COUNTED.output };

function caller(defaultMonth?: number, price = PRICE) {
  const endpoint = { protocol: "openai" as const, base_url: `${stub.url}/v1`, headers: {} };
  const resolved = { endpoint, model: "m", connection: null, fetch: globalThis.fetch, secrets: [] };
  return createModelCaller({
    db: own.database,
    models: { resolve: async () => resolved },
    prices: { own: { m: price }, listed: {} },
    defaultMonth,
  });
}

const QUESTION = { messages: [{ role: "user" as const, content: "Say it" }], max_tokens: COUNTED.output };

/** A model call of a run. */
function callOf(tenant: Tenant, run_id: string | null, more: Partial<ModelCall> = {}): ModelCall {
  const place = { run_id, path: "llm-0", attempt: 1, step: 1, choice: {}, repeated: false };
  return { ...tenant, ...place, request: QUESTION, signal: AbortSignal.timeout(60_000), ...more };
}

/** Makes twenty calls at the same time; returns the codes of the refused ones. */
async function askTwenty(
  tenant: Tenant,
  runs: readonly (string | null)[],
  defaultMonth?: number,
  request: ModelCall["request"] = QUESTION,
): Promise<unknown[]> {
  const { call } = caller(defaultMonth);
  const asked = Array.from({ length: 20 }, (_, n) =>
    call(callOf(tenant, runs[n % runs.length] ?? null, { path: `llm-${n}`, request })),
  );
  const ended = await Promise.allSettled(asked);
  return ended.flatMap((each) => (each.status === "rejected" ? [(each.reason as { code: unknown }).code] : []));
}

const refused = (code: string, count = 17): string[] => Array.from({ length: count }, () => code);

async function budgeted(tenant: Tenant, most: number): Promise<string> {
  await own.database.system((db) =>
    db.query(
      `insert into flow_versions (project_id, version, org_id, definition, plan, content_hash)
       values ($1, 1, $2, '{}', $3, '')`,
      [tenant.project_id, tenant.org_id, JSON.stringify({ settings: { max_cost_usd: most } })],
    ),
  );
  return buildRun(own.database, tenant);
}

async function buildKey({ org_id }: Tenant): Promise<string> {
  const key_id = uuidv7();
  await own.database.system((db) =>
    db.query(
      "insert into api_keys (key_id, org_id, name, kind, secret_hash, prefix) values ($1, $2, 'k', 'secret', $3, 'p')",
      [key_id, org_id, key_id],
    ),
  );
  return key_id;
}

it("concurrent calls of a run and its child runs do not exceed its budget", async () => {
  const tenant = await buildTenant(own.database);
  const run_id = await budgeted(tenant, 3);
  const part = await buildRun(own.database, tenant, { parent_run_id: run_id, run_type: "sub_workflow" });
  const before = stub.calls.length;
  expect(await askTwenty(tenant, [run_id, part])).toEqual(refused("budget_exceeded"));
  expect(stub.calls.length - before).toBe(3);
  expect(await reservations(tenant)).toBe(0);
});

it("calls of all runs and judges do not exceed the monthly quota of an organisation or a key", async () => {
  const tenant = await buildTenant(own.database);
  const key_id = await buildKey(tenant);
  const ofKey = { ran_by_type: "org_api_key", ran_by_id: key_id } as const;
  const runs = [await buildRun(own.database, tenant, ofKey), await buildRun(own.database, tenant, ofKey)];
  await own.database.orgTransaction(tenant.org_id, async (db) => {
    await setQuotas(db, tenant.org_id, key_id, { model_usd_month: 3 });
    await setQuotas(db, tenant.org_id, null, { model_usd_month: 5 });
  });
  expect(await askTwenty(tenant, runs)).toEqual(refused("quota_exceeded"));
  // Judges count for the organisation only, which has two dollars left.
  expect(await askTwenty(tenant, [null])).toEqual(refused("quota_exceeded", 18));
  const used = await own.database.org(tenant.org_id, (db) => quotaUsage(db, null, "model_usd_month"));
  expect(used?.used).toBe(5);
  // A new quota includes earlier spending.
  await own.database.orgTransaction(tenant.org_id, (db) => setQuotas(db, tenant.org_id, null, { model_usd_month: 6 }));
  expect(await askTwenty(tenant, [null])).toEqual(refused("quota_exceeded", 19));
  const events = await own.database.system((db) =>
    db.query<{ type: string; data: unknown }>("select type, data from outbox where org_id = $1 order by seq", [
      tenant.org_id,
    ]),
  );
  const reached = (key: string | null, limit: number) => [
    "quota.reached",
    expect.objectContaining({ quota: "model_usd_month", key_id: key, limit, used: limit }),
  ];
  const told = events.filter(({ type }) => type === "quota.reached").map(({ type, data }) => [type, data]);
  expect(told).toEqual([reached(key_id, 3), reached(null, 5), reached(null, 6)].slice(0, told.length));
  expect(events.map(({ type }) => type)).toContain("quota.warning");
});

it("the installation's quota applies if the organisation has none", async () => {
  const tenant = await buildTenant(own.database);
  expect(await askTwenty(tenant, [null], 3)).toEqual(refused("quota_exceeded"));
});

it("concurrent transcriptions, whose tokens are unknown in advance, do not exceed a budget", async () => {
  const tenant = await buildTenant(own.database);
  const recording = { bytes: Buffer.alloc(COUNTED.output * 400), type: "audio/mpeg" };
  expect(await askTwenty(tenant, [await budgeted(tenant, 3)], undefined, { recording })).toEqual(
    refused("budget_exceeded"),
  );
});

it("the month includes recorded calls of crashed processes and calls whose answer cannot be stored", async () => {
  const tenant = await buildTenant(own.database);
  const run_id = await buildRun(own.database, tenant);
  const { call } = caller(1_000_000, { input: 1_000_000, output: 1_000_000 });
  const month = async () => {
    const rows = await own.database.org(tenant.org_id, (db) =>
      db.query("select finish_reason, cost_usd::float8 as cost from model_calls order by call_id"),
    );
    const used = await own.database.org(tenant.org_id, (db) => quotaUsage(db, null, "model_usd_month"));
    expect(used?.used).toBe(rows.reduce((sum, { cost }) => sum + Number(cost), 0));
    expect(await reservations(tenant)).toBe(0);
    return rows.map(({ finish_reason }) => finish_reason);
  };
  await call(callOf(tenant, run_id));
  await call(callOf(tenant, run_id, { attempt: 2, repeated: true }));
  expect(await month()).toEqual(["stop", "lost", "stop"]);
  const keep = async (): Promise<never> => {
    throw new Error("the blob store takes nothing");
  };
  await expect(call(callOf(tenant, run_id, { attempt: 3, keep }))).rejects.toThrow("takes nothing");
  expect(await month()).toEqual(["stop", "lost", "stop", "stop"]);
});

it("a call waits for the reservations of running calls, and uses a crashed process's reservation once it expires", async () => {
  const tenant = await buildTenant(own.database);
  const run_id = await budgeted(tenant, 3);
  const reserve = (seconds: number, amount: number) =>
    own.database.org(tenant.org_id, (db) =>
      insertReservation(
        db,
        { call_id: uuidv7(), org_id: tenant.org_id, key_id: null, run_id, path: "lost", amount },
        seconds,
      ),
    );
  await reserve(-1, 3);
  await reserve(600, 2.5);
  const answered = askTwenty(tenant, [run_id]);
  // While two and a half dollars are reserved no call may start, because it needs a dollar.
  await waitsFor(callOf(tenant, run_id));
  await own.database.org(tenant.org_id, (db) =>
    db.query("delete from cost_reservations where run_id = $1 and path = 'lost'", [run_id]),
  );
  expect(await answered).toEqual(refused("budget_exceeded"));
});

it("a month that was read once counts every later call, even without a quota", async () => {
  const tenant = await buildTenant(own.database);
  const key_id = await buildKey(tenant);
  // A run started by a run of the key, and a child run of it.
  const started = await buildRun(own.database, tenant, { key_id });
  const part = await buildRun(own.database, tenant, { parent_run_id: started, run_type: "sub_workflow" });
  const { call } = caller();
  const used = async () => {
    const status = (key: string | null) =>
      own.database.orgTransaction(tenant.org_id, (db) => quotaStatus(db, tenant.org_id, key, {}));
    const all = [...(await status(null)), ...(await status(key_id))];
    return all.filter(({ quota }) => quota === "model_usd_month").map((each) => each.used);
  };
  await call(callOf(tenant, part));
  await call(callOf(tenant, null));
  expect(await used()).toEqual([2, 1]);
  await call(callOf(tenant, null));
  await call(callOf(tenant, started, { attempt: 2 }));
  expect(await used()).toEqual([4, 2]);
  // A quota that is set during a call includes the call.
  const asked = stub.calls.length;
  stub.next({ text: ["late"], pauseMs: 200 });
  const underWay = call(callOf(tenant, part, { attempt: 3 }));
  await expect.poll(() => stub.calls.length).toBe(asked + 1);
  await own.database.orgTransaction(tenant.org_id, (db) =>
    setQuotas(db, tenant.org_id, key_id, { model_usd_month: 4 }),
  );
  await underWay;
  expect(await used()).toEqual([5, 3]);
  expect(await askTwenty(tenant, [part])).toEqual(refused("quota_exceeded", 19));
  expect(await askTwenty(tenant, [null], 8)).toEqual(refused("quota_exceeded", 18));
  // A node of such a run also uses a slot of the key.
  const place = { org_id: tenant.org_id, place_id: uuidv7(), run_id: part, task: "t" };
  const places = await own.database.org(tenant.org_id, async (db) => {
    await takeNodePlace(db, place, 60, 1);
    return countNodePlaces(db, key_id);
  });
  expect(places).toBe(1);
});

it("a paid answer is still recorded if its first record fails: database unavailable, or answer not storable", async () => {
  const tenant = await buildTenant(own.database);
  const run_id = await buildRun(own.database, tenant);
  const { call } = caller(1_000_000, { input: 0, output: 1_000_000 });
  let kept = 0;
  /** Terminates the database connection during a transaction. */
  const cut = async (db: Db): Promise<void> => {
    const pid = await db.value<number>("select pg_backend_pid()");
    await own.database.system((each) => each.query("select pg_terminate_backend($1::integer)", [pid]));
    await db.query("select pg_sleep(10)");
  };
  const keep = async () => async (db: Db) => {
    kept += 1;
    if (kept === 1) await cut(db);
  };
  const stop = new AbortController();
  // The response is also stored if the run is cancelled meanwhile.
  const keepLate = async () => async (db: Db) => {
    if (stop.signal.aborted) return;
    stop.abort(new Error("cancelled"));
    await cut(db);
  };
  const refuse = async () => async (db: Db) => {
    await db.query("select 1 / 0");
  };
  expect((await call(callOf(tenant, run_id, { keep }))).usage.cost_usd).toBe(COUNTED.output);
  expect(kept).toBe(2);
  await call(callOf(tenant, run_id, { step: 2, keep: keepLate, signal: stop.signal }));
  await expect(call(callOf(tenant, run_id, { step: 3, keep: refuse }))).rejects.toThrow("division by zero");
  const rows = await own.database.org(tenant.org_id, (db) =>
    db.query("select step, finish_reason, cost_usd::float8 as cost from model_calls order by call_id"),
  );
  expect(rows).toEqual([1, 2, 3].map((step) => ({ step, finish_reason: "stop", cost: COUNTED.output })));
  const month = await own.database.org(tenant.org_id, (db) => quotaUsage(db, null, "model_usd_month"));
  expect([month?.used, await reservations(tenant)]).toEqual([3 * COUNTED.output, 0]);
});

it("a call waits for what the calls of a key have reserved of the organisation's month, and no key for another", async () => {
  const tenant = await buildTenant(own.database);
  const reserved = { org_id: tenant.org_id, key_id: await buildKey(tenant), run_id: null, path: "p", amount: 2.5 };
  await own.database.org(tenant.org_id, (db) => insertReservation(db, { ...reserved, call_id: uuidv7() }, 600));
  await waitsFor(callOf(tenant, null), 3);
  const key_id = await buildKey(tenant);
  await own.database.orgTransaction(tenant.org_id, (db) =>
    setQuotas(db, tenant.org_id, key_id, { model_usd_month: 3 }),
  );
  const signal = AbortSignal.timeout(10_000);
  await caller().call(callOf(tenant, await buildRun(own.database, tenant, { key_id }), { signal }));
});

async function reservations({ org_id }: Tenant): Promise<number> {
  const rows = await own.database.org(org_id, (db) => db.query("select 1 from cost_reservations"));
  return rows.length;
}

/** Expects that a call waits and contacts no model meanwhile. */
async function waitsFor(wanted: ModelCall, defaultMonth?: number): Promise<void> {
  const before = stub.calls.length;
  const signal = AbortSignal.timeout(300);
  await expect(caller(defaultMonth).call({ ...wanted, signal })).rejects.toMatchObject({ code: "ABORT_ERR" });
  expect(stub.calls.length).toBe(before);
}
