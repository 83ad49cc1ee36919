import { expect, it, vi } from "vitest";
import { setQuotas } from "../../../src/stores/quotas.ts";
import type { Quota } from "../../../src/domain/accounts/quotas.ts";
import { asking, echo, openTenant } from "../tenant.ts";
import type { ApiTenant } from "../tenant.ts";
import { edges, flow, node } from "../../support/flows.ts";

async function limited(limits: Partial<Record<Quota, number>>): Promise<ApiTenant> {
  const tenant = await openTenant();
  // Before anything is asked: no process has read its quotas yet.
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

it("limits how many runs of an organisation are under way, also where they come at the same time", async () => {
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
  // One that has ended leaves its place.
  const { run_id } = answers.find(({ status }) => status === 201)?.body ?? {};
  await tenant.secret.post(`/v2/runs/${run_id}/cancel`, {});
  await tenant.until(run_id, "CANCELLED");
  expect((await start()).status).toBe(201);
  // Each event is sent once.
  expect(await eventsOf(tenant)).toHaveLength(2);
});

it("limits how many runs are started in a minute, and says from when on there are more", async () => {
  const tenant = await limited({ runs_per_minute: 3 });
  const project_id = await tenant.deploy(echo());
  const asked = Array.from({ length: 12 }, () =>
    tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "x" } }),
  );
  const refused = (await Promise.all(asked)).filter(({ status }) => status !== 201);
  // A minute of the clock may end meanwhile.
  expect([6, 9]).toContain(refused.length);
  const [{ body, headers } = { body: {}, headers: new Headers() }] = refused;
  expect(body).toMatchObject({ status: 429, code: "quota_exceeded", quota: "runs_per_minute", limit: 3, used: 3 });
  const seconds = Number(headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(Date.parse(body.resets_at) % 60_000).toBe(0);
});

it("promises nothing where a quota is 0, and says who can change it", async () => {
  const tenant = await limited({ runs_per_minute: 0, storage_bytes: 0 });
  const project_id = await tenant.deploy(echo());
  const run = await tenant.secret.post("/v2/runs", { project_id, inputs: { "in-0": "a" } });
  const skill = await tenant.secret.post("/v2/skills", { name: "any", description: "Any.", instructions: "x" });
  for (const { status, body, headers } of [run, skill]) {
    expect([status, body.code, headers.get("retry-after")]).toEqual([429, "quota_exceeded", null]);
    expect(body).toMatchObject({ key_id: null, limit: 0, used: 0, resets_at: null });
    expect(body.detail).toContain("is 0, so nothing is let through. Whoever runs the installation can change that");
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
    `An admin of the organisation can change that, by PATCH /v2/api-keys/${key.key_id}`,
  );
});

it("limits the bytes that are stored, by what they are after a deletion", async () => {
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
  // The same name replaces the file, and what is there is counted again before anything is refused.
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
});

it("is set for a key by an admin, at most what the organisation has", async () => {
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
  // Every process goes by it within five seconds.
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
