import { uuidv7 } from "uuidv7";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createNodePlaces } from "../../src/services/runs/node-places.ts";
import { openDatabase } from "../../src/stores/db.ts";
import { takeNodePlace } from "../../src/stores/runs/node-places.ts";
import { setQuotas } from "../../src/stores/quotas/quotas.ts";
import { requestCancel } from "../../src/stores/runs/runs.ts";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { readMetrics } from "../support/metrics.ts";
import { startService, type OwnService } from "../support/service.ts";

const NODES = 10;

let service: OwnService;
let target: HttpTarget;
/** Requests in flight, by path. */
const active = new Map<string, number>();
const most = new Map<string, number>();
/** Gates of paths whose responses are held back. */
const gates = new Map<string, { readonly atOnce: number; readonly opened: Promise<void>; open(): void }>();

beforeAll(async () => {
  service = await startService({ workers: 2 });
  target = await startHttpTarget();
  target.onEvery(async ({ path }, response) => {
    active.set(path, (active.get(path) ?? 0) + 1);
    most.set(path, Math.max(most.get(path) ?? 0, active.get(path) ?? 0));
    response.once("close", () => active.set(path, (active.get(path) ?? 0) - 1));
    if (path.endsWith("/hang")) return;
    const gate = gates.get(path);
    if (active.get(path) === gate?.atOnce) gate?.open();
    await gate?.opened;
    await new Promise((resolve) => setTimeout(resolve, 100));
    response.end("{}");
  });
  for (const nodes of [2, 5, 2, 1, 5]) prepared.push({ nodes, tenant: await withQuota(nodes) });
  keyed = await withKey();
});
afterAll(async () => {
  await target?.close();
  await service?.close();
});

let paths = 0;
/** A path that has not been requested before, even when a test is repeated. */
const fresh = (name: string): string => `/${(paths += 1)}/${name}`;

/** Holds back responses at the path until the returned function is called, or until this many requests are in flight. */
function hold(path: string, atOnce = Infinity): () => void {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  gates.set(path, { atOnce, opened, open });
  return open;
}

/** A flow that requests the path from this many parallel nodes. */
const calling = (path: string, nodes = NODES) => {
  const ids = Array.from({ length: nodes }, (_, at) => `http-${at}`);
  return flow(
    [
      ...ids.map((id) => ({ id, type: "http", config: { url: `${target.url}${path}` } })),
      { id: "out-0", type: "output", config: { value: "{{http-0.status}}" } },
    ],
    ids.map((id) => `${id}>out-0`),
  );
};

async function withQuota(nodes: number): Promise<ApiTenant> {
  const tenant = await openTenant(service);
  const { org_id } = tenant;
  await tenant.withDatabase((db) =>
    db.orgTransaction(org_id, (connection) => setQuotas(connection, org_id, null, { concurrent_nodes: nodes })),
  );
  return tenant;
}

async function withKey(): Promise<{ readonly tenant: ApiTenant; readonly authorization: string }> {
  const tenant = await openTenant(service);
  const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
  const path = `/v2/api-keys/${key.key_id}/quotas`;
  expect((await tenant.secret.patch(path, { concurrent_nodes: 0 })).status).toBe(422);
  const { status, body } = await tenant.secret.patch(path, { concurrent_nodes: 1 });
  expect([status, body.quotas[1]]).toEqual([200, { quota: "concurrent_nodes", limit: 1, used: 0, resets_at: null }]);
  return { tenant, authorization: `Bearer ${key.key}` };
}

/** Created before a worker executes a node, because workers cache for five seconds which organisations have a quota. */
const prepared: Array<{ readonly nodes: number; readonly tenant: ApiTenant }> = [];
let keyed: Awaited<ReturnType<typeof withKey>>;

/** A new organisation with a quota of this many nodes at one time. */
async function limitedTo(nodes: number): Promise<ApiTenant> {
  const at = prepared.findIndex((each) => each.nodes === nodes);
  const [found] = at < 0 ? [] : prepared.splice(at, 1);
  if (found) return found.tenant;
  // Only when a test is repeated.
  const tenant = await withQuota(nodes);
  await new Promise((resolve) => setTimeout(resolve, 5100));
  return tenant;
}

async function run(tenant: ApiTenant, project_id: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, body } = await tenant.secret.post("/v2/runs", { project_id, inputs: {} }, { headers });
  expect(status).toBe(201);
  return body.run_id;
}

const quotaOf = async (tenant: ApiTenant) =>
  (await tenant.secret.get("/v2/quotas")).body.quotas.find(
    ({ quota }: { quota: string }) => quota === "concurrent_nodes",
  );

const callsOf = async (worker: { url: string }): Promise<number> =>
  Array.from((await readMetrics(worker)).matchAll(/^millrace_outbound_requests_total\{.*\} (\d+)$/gm)).reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );

it("limits an organisation's concurrent nodes to its quota over two workers, and delays no other organisation", async () => {
  const [limited, free] = [await limitedTo(2), await openTenant(service)];
  const [slow, quick] = [fresh("limited"), fresh("free")];
  const release = hold(slow);
  // The quick requests finish only when all of them are in flight, so they need every slot.
  hold(quick, NODES);
  const runs = await Promise.all(
    Array.from({ length: 3 }, async () => run(limited, await limited.deploy(calling(slow)))),
  );
  await expect.poll(() => active.get(slow)).toBe(2);
  await free.until(await run(free, await free.deploy(calling(quick))), "COMPLETED");
  expect(target.hits(slow)).toBe(2);
  release();
  for (const run_id of runs) await limited.until(run_id, "COMPLETED");
  expect([most.get(slow), target.hits(slow)]).toEqual([2, 3 * NODES]);
  for (const worker of service.worker) expect(await callsOf(worker)).toBeGreaterThan(0);
  expect(await quotaOf(limited)).toEqual({ quota: "concurrent_nodes", limit: 2, used: 0, resets_at: null });
  expect(await quotaOf(free)).toEqual({ quota: "concurrent_nodes", limit: null, used: null, resets_at: null });
});

it("sends one event near the limit and one at the limit, and reports the usage", async () => {
  const tenant = await limitedTo(5);
  const [hanging, told] = [fresh("told/hang"), fresh("told")];
  const run_id = await run(tenant, await tenant.deploy(calling(hanging, 5)));
  await expect.poll(() => active.get(hanging)).toBe(5);
  expect(await quotaOf(tenant)).toMatchObject({ limit: 5, used: 5 });
  await tenant.secret.post(`/v2/runs/${run_id}/cancel`, {});
  await tenant.until(run_id, "CANCELLED");
  await expect.poll(async () => (await quotaOf(tenant)).used).toBe(0);
  hold(told, 5);
  await tenant.until(await run(tenant, await tenant.deploy(calling(told))), "COMPLETED");
  expect(most.get(told)).toBe(5);
  const events = await tenant.withDatabase((db) =>
    db.system((connection) =>
      connection.query<{ type: string; data: Record<string, unknown> }>(
        "select type, data from outbox where org_id = $1 and type like 'quota.%' order by seq",
        [tenant.org_id],
      ),
    ),
  );
  const one = { quota: "concurrent_nodes", key_id: null, limit: 5, resets_at: null };
  expect(events).toEqual([
    { type: "quota.warning", data: { ...one, used: 4 } },
    { type: "quota.reached", data: { ...one, used: 5 } },
  ]);
});

it("starts no node of a cancelled run, and releases the slots of its running nodes", async () => {
  const tenant = await limitedTo(5);
  const { org_id } = tenant;
  const [hanging, inside] = [fresh("cancelled/hang"), fresh("inside/hang")];
  const run_id = await run(tenant, await tenant.deploy(calling(hanging)));
  await expect.poll(() => active.get(hanging)).toBe(5);
  const cancelledAt = Date.now();
  await tenant.secret.post(`/v2/runs/${run_id}/cancel`, {});
  await tenant.until(run_id, "CANCELLED");
  expect(Date.now() - cancelledAt).toBeLessThan(5000);
  await expect.poll(async () => [(await quotaOf(tenant)).used, active.get(hanging)]).toEqual([0, 0]);
  expect(target.hits(hanging)).toBe(5);

  const outer = await tenant.deploy(
    flow(
      [
        { id: "sub-0", type: "subflow", config: { project_id: await tenant.deploy(calling(inside, 1)) } },
        { id: "out-0", type: "output" },
      ],
      ["sub-0>out-0"],
    ),
  );
  const around = await run(tenant, outer);
  await expect.poll(() => active.get(inside)).toBe(1);
  const query = { parent_run_id: around };
  const [child] = (await tenant.secret.get("/v2/runs", { query })).body.data;
  await tenant.withDatabase(async (db) => {
    const places = createNodePlaces(db, 5);
    const take = async (of: string) => {
      const release = await places.take({ org_id, run_id: of, task: uuidv7() }, AbortSignal.timeout(60_000));
      release?.();
      return release !== null;
    };
    expect(await take(child.run_id)).toBe(true);
    // The cancellation is requested in the database only; the workflow does not know of it.
    await db.org(org_id, (connection) => requestCancel(connection, around, null));
    expect([await take(run_id), await take(around), await take(child.run_id)]).toEqual([false, false, false]);
    expect(await take(uuidv7())).toBe(true);
    places.close();
  });
  await tenant.until(around, "CANCELLED");
});

it("limits the runs of a key to the key's quota, child runs included", async () => {
  const { tenant, authorization } = keyed;
  const [slow, quick] = [fresh("key"), fresh("other")];
  const release = hold(slow);
  hold(quick, NODES);
  const inner = await tenant.deploy(calling(slow, 3));
  const outer = await tenant.deploy(
    flow(
      [
        { id: "sub-0", type: "subflow", config: { project_id: inner } },
        { id: "out-0", type: "output" },
      ],
      ["sub-0>out-0"],
    ),
  );
  const others = await tenant.deploy(calling(quick));
  const held = await Promise.all([run(tenant, outer, { authorization }), run(tenant, inner, { authorization })]);
  await expect.poll(() => active.get(slow)).toBe(1);
  await tenant.until(await run(tenant, others), "COMPLETED");
  release();
  for (const run_id of held) await tenant.until(run_id, "COMPLETED");
  expect([most.get(slow), target.hits(slow)]).toEqual([1, 6]);
});

it("releases the slots of a killed worker", async () => {
  const tenant = await limitedTo(2);
  const [hanging, next] = [fresh("lost/hang"), fresh("next")];
  const held = await run(tenant, await tenant.deploy(calling(hanging, 2)));
  await expect.poll(() => active.get(hanging)).toBe(2);
  await Promise.all(service.worker.map((worker) => worker.kill()));
  expect(await quotaOf(tenant)).toMatchObject({ used: 2 });
  // Cancelled, so that no retry of its nodes takes over their slots.
  await tenant.secret.post(`/v2/runs/${held}/cancel`, {});
  await tenant.until(held, "CANCELLED");
  await expect.poll(async () => (await quotaOf(tenant)).used).toBe(0);
  await Promise.all(service.worker.map((worker) => worker.restart()));
  await tenant.until(await run(tenant, await tenant.deploy(calling(next, 3))), "COMPLETED");
  expect(target.hits(next)).toBe(3);
});

it("keeps a slot for a node that runs longer than the lease", async () => {
  const tenant = await limitedTo(1);
  const [hanging, after] = [fresh("long/hang"), fresh("after")];
  const held = await run(tenant, await tenant.deploy(calling(hanging, 1)));
  await expect.poll(() => active.get(hanging)).toBe(1);
  const next = await run(tenant, await tenant.deploy(calling(after, 1)));
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  expect(target.hits(after)).toBe(0);
  await tenant.secret.post(`/v2/runs/${held}/cancel`, {});
  await tenant.until(next, "COMPLETED");
});

it("grants no more slots than the quota to concurrent callers", async () => {
  const tenant = await openTenant(service);
  const { org_id } = tenant;
  const options = { url: service.databaseUrl, poolSize: 12, applicationName: "test", onError: () => undefined };
  const db = openDatabase(options);
  try {
    // Opens all connections first.
    await Promise.all(Array.from({ length: 12 }, () => db.org(org_id, (each) => each.query("select pg_sleep(0.1)"))));
    for (let round = 0; round < 20; round += 1) {
      const wanted = () => ({ org_id, place_id: uuidv7(), run_id: uuidv7(), task: uuidv7() });
      const taken = await Promise.all(
        Array.from({ length: 12 }, () => db.org(org_id, (each) => takeNodePlace(each, wanted(), 60, 5))),
      );
      expect(taken.filter((each) => each === "taken")).toHaveLength(5);
      await db.org(org_id, (each) => each.query("delete from node_places where org_id = current_org()"));
    }
  } finally {
    await db.close();
  }
});
