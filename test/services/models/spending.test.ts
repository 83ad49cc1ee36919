import { afterAll, beforeAll, expect, it } from "vitest";
import { uuidv7 } from "uuidv7";
import { COUNTED, startModelStub } from "../../../src/dev/model-stub.ts";
import type { ModelStub } from "../../../src/dev/model-stub.ts";
import { createModelCaller } from "../../../src/services/models/call-model.ts";
import type { ModelCall } from "../../../src/services/models/call-model.ts";
import { quotaUsage, setQuotas } from "../../../src/stores/quotas.ts";
import { insertReservation } from "../../../src/stores/models/spending.ts";
import { buildRun, buildTenant, ownDatabase } from "../../stores/rows.ts";
import type { Tenant } from "../../stores/rows.ts";

const own = ownDatabase();
let stub: ModelStub;
beforeAll(async () => {
  stub = await startModelStub();
});
afterAll(() => stub.close());

/** A call costs a dollar, and that is what is reserved for it. */
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

/** A call of a run. */
function callOf(tenant: Tenant, run_id: string | null, more: Partial<ModelCall> = {}): ModelCall {
  const place = { run_id, path: "llm-0", attempt: 1, step: 1, choice: {}, repeated: false };
  return { ...tenant, ...place, request: QUESTION, signal: AbortSignal.timeout(60_000), ...more };
}

/** Asks twenty times at once; the codes of what was refused. */
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

it("does not exceed a run's budget by calls at the same time, those of its sub-runs among them", async () => {
  const tenant = await buildTenant(own.database);
  const run_id = await budgeted(tenant, 3);
  const part = await buildRun(own.database, tenant, { parent_run_id: run_id, run_type: "sub_workflow" });
  const before = stub.calls.length;
  expect(await askTwenty(tenant, [run_id, part])).toEqual(refused("budget_exceeded"));
  expect(stub.calls.length - before).toBe(3);
  expect(await reservations(tenant)).toBe(0);
});

it("does not exceed what an organisation, or a key, may spend in a month, over all runs and judges", async () => {
  const tenant = await buildTenant(own.database);
  const key_id = uuidv7();
  await own.database.system((db) =>
    db.query(
      "insert into api_keys (key_id, org_id, name, kind, secret_hash, prefix) values ($1, $2, 'k', 'secret', '1', 'p')",
      [key_id, tenant.org_id],
    ),
  );
  const ofKey = { ran_by_type: "org_api_key", ran_by_id: key_id } as const;
  const runs = [await buildRun(own.database, tenant, ofKey), await buildRun(own.database, tenant, ofKey)];
  await own.database.orgTransaction(tenant.org_id, async (db) => {
    await setQuotas(db, tenant.org_id, key_id, { model_usd_month: 3 });
    await setQuotas(db, tenant.org_id, null, { model_usd_month: 5 });
  });
  expect(await askTwenty(tenant, runs)).toEqual(refused("quota_exceeded"));
  // Judges are nobody's but the organisation's: two dollars are left.
  expect(await askTwenty(tenant, [null])).toEqual(refused("quota_exceeded", 18));
  const used = await own.database.org(tenant.org_id, (db) => quotaUsage(db, null, "model_usd_month"));
  expect(used?.used).toBe(5);
  // A quota that is set counts what was spent before.
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

it("holds the installation's quota where the organisation has none of its own", async () => {
  const tenant = await buildTenant(own.database);
  expect(await askTwenty(tenant, [null], 3)).toEqual(refused("quota_exceeded"));
});

it("does not exceed a budget by recordings at the same time, whose tokens nobody knows before", async () => {
  const tenant = await buildTenant(own.database);
  const recording = { bytes: Buffer.alloc(COUNTED.output * 400), type: "audio/mpeg" };
  expect(await askTwenty(tenant, [await budgeted(tenant, 3)], undefined, { recording })).toEqual(
    refused("budget_exceeded"),
  );
});

it("counts in the month what is written down: the call of a process that died, and one whose answer cannot be kept", async () => {
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

it("waits for what a call under way may need, and takes what a dead process reserved once that has expired", async () => {
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
  // None may begin while two and a half dollars are reserved: a dollar is needed.
  await expect.poll(() => waiting(tenant)).toBe(false);
  await own.database.org(tenant.org_id, (db) =>
    db.query("delete from cost_reservations where run_id = $1 and path = 'lost'", [run_id]),
  );
  expect(await answered).toEqual(refused("budget_exceeded"));
});

async function reservations({ org_id }: Tenant): Promise<number> {
  const rows = await own.database.org(org_id, (db) => db.query("select 1 from cost_reservations"));
  return rows.length;
}

/** Whether a call of the organisation has been written down. */
async function waiting({ org_id }: Tenant): Promise<boolean> {
  return (await own.database.org(org_id, (db) => db.query("select 1 from model_calls"))).length > 0;
}
