import { expect, it, vi } from "vitest";
import { changeKeyQuotas } from "../../../src/services/accounts/quotas.ts";
import { setQuotas } from "../../../src/stores/quotas/quotas.ts";
import type { Quota } from "../../../src/domain/accounts/quotas.ts";
import { asking, echo, openTenant, type ApiTenant } from "../tenant.ts";
import { client } from "../../support/client.ts";
import { edges, flow, node } from "../../support/flows.ts";
import { buildRun } from "../../stores/rows.ts";

async function limited(limits: Partial<Record<Quota, number>>): Promise<ApiTenant> {
  const tenant = await openTenant();
  // Sets the quotas before the first request, because processes cache them.
  await tenant.withDatabase((db) =>
    db.orgTransaction(tenant.org_id, (connection) => setQuotas(connection, tenant.org_id, null, limits)),
  );
  return tenant;
}

const quotaOf = async (tenant: ApiTenant, quota: string) =>
  (await tenant.secret.get("/v2/quotas")).body.quotas.find((each: { quota: string }) => each.quota === quota);

const eventsOf = ({ withDatabase, org_id }: ApiTenant) =>
  withDatabase((db) =>
    db.system((connection) =>
      connection.query<{ type: string; data: Record<string, unknown> }>(
        "select type, data from outbox where org_id = $1 and type like 'quota.%' order by seq",
        [org_id],
      ),
    ),
  );

it("limits the unfinished runs of an organisation, also for simultaneous requests", async () => {
  const tenant = await limited({ concurrent_runs: 5 });
  const project_id = await tenant.deploy(asking());
  const start = () => tenant.secret.post("/v2/runs", { project_id, inputs: {} });
  const answers = await Promise.all(Array.from({ length: 12 }, start));
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused).toHaveLength(7);
  for (const { status, body, headers } of refused) {
    expect([status, body.code, headers.get("retry-after")]).toEqual([429, "quota_exceeded", "5"]);
    expect(body).toMatchObject({ quota: "concurrent_runs", key_id: null, limit: 5, used: 5, resets_at: null });
  }
  expect(await quotaOf(tenant, "concurrent_runs")).toEqual({
    quota: "concurrent_runs",
    limit: 5,
    used: 5,
    resets_at: null,
  });
  const events = await eventsOf(tenant);
  expect(events.map(({ type, data }) => [type, data["used"]])).toEqual([
    ["quota.warning", 4],
    ["quota.reached", 5],
  ]);
  // A finished run frees its slot.
  const { run_id } = answers.find(({ status }) => status === 201)?.body ?? {};
  await tenant.secret.post(`/v2/runs/${run_id}/cancel`, {});
  await tenant.until(run_id, "CANCELLED");
  expect((await start()).status).toBe(201);
  // Each event is sent once.
  expect(await eventsOf(tenant)).toHaveLength(2);
});

it("reports the number of unfinished runs when a lowered quota is far exceeded", async () => {
  const tenant = await limited({ concurrent_runs: 1 });
  const project_id = await tenant.deploy(asking());
  const run_at = new Date(Date.now() + 3_600_000).toISOString();
  await tenant.withDatabase((db) =>
    Promise.all([1, 2, 3].map(() => buildRun(db, { org_id: tenant.org_id, project_id }, { run_at }))),
  );
  const refused = await tenant.secret.post("/v2/runs", { project_id, inputs: {} });
  expect(refused).toMatchObject({ status: 429, body: { quota: "concurrent_runs", limit: 1, used: 3 } });
  expect(await quotaOf(tenant, "concurrent_runs")).toMatchObject({ limit: 1, used: 3 });
});

it("limits the runs started in a minute, and says when the next may start", async () => {
  const tenant = await limited({ runs_per_minute: 3 });
  const project_id = await tenant.deploy(echo());
  const start = () => tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" } });
  const refused = (await Promise.all(Array.from({ length: 12 }, start))).filter(({ status }) => status !== 201);
  // Six succeed instead of three if a new minute begins during the test.
  expect([6, 9]).toContain(refused.length);
  const [{ body, headers } = { body: {}, headers: new Headers() }] = refused;
  expect(body).toMatchObject({ status: 429, code: "quota_exceeded", quota: "runs_per_minute", limit: 3, used: 3 });
  const seconds = Number(headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(Date.parse(body.resets_at) % 60_000).toBe(0);
  // As if the minute had passed.
  const sql = "update quota_usage set period = period - interval '1 minute' where org_id = $1";
  await tenant.withDatabase((database) => database.system((db) => db.query(sql, [tenant.org_id])));
  expect((await quotaOf(tenant, "runs_per_minute")).used).toBe(0);
  expect((await start()).status).toBe(201);
  expect((await quotaOf(tenant, "runs_per_minute")).used).toBe(1);
});

it("returns no Retry-After if a quota is 0, and says who can change it", async () => {
  const tenant = await limited({ runs_per_minute: 0, storage_bytes: 0 });
  const project_id = await tenant.deploy(echo());
  const run = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" } });
  const skill = await tenant.secret.post("/v2/skills", { name: "any", description: "Any.", instructions: "x" });
  for (const { status, body, headers } of [run, skill]) {
    expect([status, body.code, headers.get("retry-after")]).toEqual([429, "quota_exceeded", null]);
    expect(body).toMatchObject({ key_id: null, limit: 0, used: 0, resets_at: null });
    expect(body.detail).toContain("is 0, so every request is rejected. The operator can change it");
  }
  const other = await limited({});
  const { body: key } = await other.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
  await other.secret.patch(`/v2/api-keys/${key.key_id}/quotas`, { concurrent_runs: 0 });
  const refused = await other.secret.post(
    "/v2/runs",
    { project_id: await other.deploy(echo()), inputs: { "in-0": "a" } },
    { headers: { authorization: `Bearer ${key.key}` } },
  );
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, null]);
  expect(refused.body.detail).toContain(
    `An admin of the organisation can change it with PATCH /v2/api-keys/${key.key_id}`,
  );
});

it("limits stored bytes, and frees them after a deletion", async () => {
  const tenant = await limited({ storage_bytes: 1000 });
  const reading = flow({ nodes: [node("doc-0", "files"), node("out-0", "output")], edges: edges("doc-0 > out-0") });
  const flow_id = await tenant.deploy(reading);
  const upload = (name: string, bytes: number) => {
    const form = new FormData();
    form.set("file", new Blob(["x".repeat(bytes)]), name);
    const query = { org: tenant.org_id, user_id: "ada-1", flow_id, node_id: "doc-0" };
    return tenant.secret.post("/upload_to_storage_user", form, { query });
  };
  const answers = await Promise.all(["a", "b", "c", "d"].map((name) => upload(`${name}.txt`, 300)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 429]);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body).toMatchObject({ code: "quota_exceeded", quota: "storage_bytes", limit: 1000, used: 900 });
  const skill = { name: "large", description: "Large.", instructions: "y".repeat(500) };
  expect((await tenant.secret.post("/v2/skills", skill)).body).toMatchObject({ quota: "storage_bytes" });
  const { body: base } = await tenant.secret.post("/v2/knowledge-bases", {
    name: "K",
    indexing_params: { embedding_params: { embedding_model: null } },
  });
  const text = { text: "z".repeat(500), name: "z.txt" };
  const added = await tenant.secret.post(`/v2/knowledge-bases/${base.knowledge_base_id}/resources`, text);
  expect(added.body).toMatchObject({ quota: "storage_bytes", used: 900 });
  expect((await quotaOf(tenant, "storage_bytes")).used).toBe(900);
  // The same name replaces the file, and before the upload is refused, usage is counted again.
  const name = answers.find(({ status }) => status === 200)?.body.filename;
  expect((await upload(name, 50)).status).toBe(200);
  expect(
    (
      await tenant.secret.post(`/v2/knowledge-bases/${base.knowledge_base_id}/resources`, {
        ...text,
        text: "z".repeat(200),
      })
    ).status,
  ).toBe(202);
  expect((await quotaOf(tenant, "storage_bytes")).used).toBe(850);
  // The last free byte can be used, and no further one.
  expect([(await upload("e.txt", 150)).status, (await upload("f.txt", 1)).status]).toEqual([200, 429]);
});

it("is set for a key by an admin, up to the organisation's quota", async () => {
  const tenant = await limited({ concurrent_runs: 5 });
  const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
  const path = `/v2/api-keys/${key.key_id}/quotas`;
  const set = await tenant.secret.patch(path, { concurrent_runs: 2, runs_per_minute: 100 });
  expect([
    set.status,
    set.body.quotas.map((each: { quota: string; limit: number }) => [each.quota, each.limit]),
  ]).toEqual([
    200,
    [
      ["concurrent_runs", 2],
      ["concurrent_nodes", null],
      ["runs_per_minute", 100],
      ["model_usd_month", null],
    ],
  ]);
  const beyond = await tenant.secret.patch(path, { concurrent_runs: 6 });
  expect([beyond.status, beyond.body.errors?.[0]?.loc ?? beyond.body.detail]).toEqual([422, expect.anything()]);
  const stale = await tenant.secret.patch(path, { concurrent_runs: 1 }, { headers: { "if-match": '"other"' } });
  expect(stale.status).toBe(412);
  expect((await (await tenant.user("editor")).patch(path, { concurrent_runs: 1 })).status).toBe(403);
  expect((await (await tenant.user("viewer")).get("/v2/quotas")).status).toBe(200);

  const project_id = await tenant.deploy(asking());
  const withKey = { headers: { authorization: `Bearer ${key.key}` } };
  const start = (as: object) => tenant.secret.post("/v2/runs", { project_id, inputs: {} }, as);
  // Every process applies a new quota within five seconds.
  await vi.waitFor(
    async () => {
      const answers = [await start(withKey), await start(withKey), await start(withKey)];
      const last = answers.at(-1);
      expect(last?.body).toMatchObject({ code: "quota_exceeded", key_id: key.key_id, limit: 2 });
    },
    { timeout: 20_000, interval: 500 },
  );
  const { body: unset } = await tenant.secret.patch(path, { concurrent_runs: null });
  expect(unset.quotas[0]).toMatchObject({ quota: "concurrent_runs", limit: null });
});

it("of a key is at most the organisation's, whether above or below the installation's", async () => {
  const tenant = await limited({ concurrent_runs: 5, runs_per_minute: 20 });
  const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
  const set = (change: object) =>
    tenant.withDatabase((db) =>
      changeKeyQuotas(
        db,
        { org_id: tenant.org_id, key_id: key.key_id },
        change,
        { concurrent_runs: 10, runs_per_minute: 10, concurrent_nodes: 10 },
        () => undefined,
        { audit: async () => undefined, view: (limits) => limits },
      ),
    );
  await set({ runs_per_minute: 15, concurrent_runs: 5, concurrent_nodes: 10 });
  for (const beyond of [{ concurrent_runs: 6 }, { concurrent_nodes: 11 }, { runs_per_minute: 21 }])
    await expect(set(beyond)).rejects.toMatchObject({ status: 422 });
});

it("of a key counts runs started by its runs' actions and by its trigger tests", async () => {
  const tenant = await limited({});
  const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
  const quotas = `/v2/api-keys/${key.key_id}/quotas`;
  expect((await tenant.secret.patch(quotas, { concurrent_runs: 2 })).status).toBe(200);
  const open = async (): Promise<number> =>
    (await tenant.secret.get(quotas)).body.quotas.find((each: { quota: string }) => each.quota === "concurrent_runs")
      .used;
  const asked = await tenant.deploy(asking());
  const starting = await tenant.deploy(
    flow({
      nodes: [
        node("act-0", "action", {
          provider_id: "millrace",
          action_id: "start_run",
          inputs: { project_id: asked, inputs: {} },
        }),
        node("out-0", "output"),
      ],
      edges: edges("act-0 > out-0"),
    }),
  );
  const trigger = { project_id: asked, provider_id: "millrace", trigger_id: "webhook", inputs: {} };
  const { body: made } = await tenant.secret.post("/v2/triggers", trigger);
  const withKey = { headers: { authorization: `Bearer ${key.key}` } };
  const start = () => tenant.secret.post("/v2/runs", { project_id: starting, inputs: {}, mode: "sync" }, withKey);
  const test = () => tenant.secret.post(`/v2/triggers/${made.id}/test`, {}, withKey);

  const { body: first } = await start();
  expect([first.state, await open()]).toEqual(["COMPLETED", 1]);
  // The calling run counts as well, so the run that it starts is the third.
  expect((await start()).body).toMatchObject({ state: "FAILED", error: { code: "quota_exceeded" } });
  const { status, body: tested } = await test();
  expect([status, await open()]).toEqual([202, 2]);
  for (const refused of [await test(), await start()])
    expect(refused.body).toMatchObject({ code: "quota_exceeded", key_id: key.key_id, limit: 2, used: 2 });
  const runs = (await tenant.secret.get("/v2/runs", { query: { project_id: asked } })).body.data;
  expect(runs.map((each: { run_id: string; ran_by_type: string }) => each.ran_by_type)).toEqual(["system", "system"]);
  expect(runs.map((each: { run_id: string }) => each.run_id)).toContain(tested.run_id);
});

it("of a key counts firings that it repeats, and rejects the ones beyond it", async () => {
  const tenant = await limited({});
  const { body: key } = await tenant.secret.post("/v2/api-keys", { name: "K", kind: "secret" });
  const quotas = `/v2/api-keys/${key.key_id}/quotas`;
  expect((await tenant.secret.patch(quotas, { concurrent_runs: 2 })).status).toBe(200);
  const trigger = { project_id: await tenant.deploy(asking()), provider_id: "millrace", trigger_id: "webhook" };
  const { body: made } = await tenant.secret.post("/v2/triggers", { ...trigger, inputs: {} });
  // The run of a request to the trigger's URL counts for no key.
  const { body: fired } = await client(tenant.target).post(new URL(made.address).pathname, {});
  const withKey = { headers: { authorization: `Bearer ${key.key}` } };
  const repeat = () => tenant.secret.post(`/v2/triggers/${made.id}/firings/${fired.run_id}/repeat`, undefined, withKey);
  const answers = [await repeat(), await repeat(), await repeat()];
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 429]);
  expect(answers[2]?.body).toMatchObject({ code: "quota_exceeded", key_id: key.key_id, limit: 2, used: 2 });
  const { body: runs } = await tenant.secret.get("/v2/runs", { query: { project_id: trigger.project_id } });
  expect(runs.data).toHaveLength(3);
});
