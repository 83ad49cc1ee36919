import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTenant, type ApiTenant } from "../api/tenant.ts";
import { flow } from "../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import type { TestClient } from "../support/client.ts";

// A viewer must not learn secrets that give more rights.

const SECRET = "hunter2-hunter2";
let tenant: ApiTenant;
let target: HttpTarget;
let viewer: TestClient;
let editor: TestClient;
let admin: TestClient;
beforeAll(async () => {
  [tenant, target] = await Promise.all([openTenant(), startHttpTarget()]);
  [viewer, editor, admin] = await Promise.all([tenant.user("viewer"), tenant.user("editor"), tenant.user("admin")]);
});
afterAll(() => target?.close());

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };

function calling(headers: Record<string, string>, path = "/called") {
  const config = { method: "GET", url: `${target.url}${path}`, headers };
  return flow([input, { id: "http-0", type: "http", config }, out], ["in-0>http-0", "http-0>out-0"]);
}

/** Expects that the viewer's response hides the secret and the others' responses show it. */
async function expectMaskedFor(path: string, members: Record<string, string> = {}): Promise<void> {
  const answers = await Promise.all([viewer, editor, admin, tenant.secret].map((each) => each.get(path)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const [seen, ...whole] = answers.map(({ body }) => JSON.stringify(body));
  expect(seen).not.toContain(SECRET);
  expect(seen).toContain("[redacted]");
  for (const text of whole) expect(text).toContain(SECRET);
  for (const left of Object.values(members)) expect(seen).toContain(left);
}

describe("viewer-secrets: a flow", () => {
  it.each([
    ["Authorization", `Bearer ${SECRET}`],
    ["x-api-key", SECRET],
    ["Cookie", `session=${SECRET}`],
  ])("with a literal %s header is masked", async (name, value) => {
    const project_id = await tenant.deploy(calling({ [name]: value, "X-Trace": "kept" }));
    await expectMaskedFor(`/v2/projects/${project_id}/versions/1`, { other: "kept" });
    await expectMaskedFor(`/v2/projects/${project_id}/versions/-1`);
  });

  it("with a secret in a URL inside a map is masked", async () => {
    const inner = calling({}, `/called?token=${SECRET}&page=7`);
    const map = {
      id: "map-0",
      type: "map",
      config: { items: "[1]", flow: { nodes: inner.nodes.slice(1), edges: inner.edges.slice(1) } },
    };
    const { status, body } = await tenant.secret.post("/v2/projects", {
      name: "mapped",
      flow: flow([input, map, out], ["in-0>map-0", "map-0>out-0"]),
    });
    expect(status, JSON.stringify(body)).toBe(201);
    await expectMaskedFor(`/v2/projects/${body.project_id}/versions/1`, { page: "page=7" });
  });

  it("in a draft, and in a step of it, is masked", async () => {
    const path = `/v2/projects/${await tenant.deploy(calling({}))}/draft`;
    const saved = await editor.put(path, { flow: calling({ Authorization: `Bearer ${SECRET}` }) });
    await expectMaskedFor(path);
    await expectMaskedFor(`${path}/steps/${saved.body.revision}`);
  });

  it("still works after an editor reads it and deploys it again", async () => {
    const project_id = await tenant.deploy(calling({ Authorization: `Bearer ${SECRET}` }, "/again"));
    const { body: read } = await editor.get(`/v2/projects/${project_id}/versions/1`);
    const same = await editor.post(`/v2/projects/${project_id}/versions`, { flow: read.flow });
    expect([same.status, same.body.version, same.body.content_hash]).toEqual([200, 1, read.content_hash]);
    const changed = { ...read.flow, description: "Changed" };
    expect((await editor.post(`/v2/projects/${project_id}/versions`, { flow: changed })).status).toBeLessThan(300);
    const { body: run } = await editor.post("/v2/runs", { project_id, inputs: { "in-0": "x" }, mode: "sync" });
    expect(run.state).toBe("COMPLETED");
    expect(target.requests.find(({ path }) => path === "/again")?.headers["authorization"]).toBe(`Bearer ${SECRET}`);
  });

  it("gets a warning that points to connections", async () => {
    const { body } = await viewer.post("/v2/flows/validate", { flow: calling({ "X-Api-Key": SECRET }) });
    expect(body.valid).toBe(true);
    const problem = body.problems.find(({ code }: { code: string }) => code === "secret_in_flow");
    expect(problem).toMatchObject({
      severity: "warning",
      node_id: "http-0",
      node_path: "http-0",
      path: ["nodes", 1, "config", "headers", "X-Api-Key"],
      hint: expect.stringContaining("/v2/connections"),
    });
    expect(JSON.stringify(body)).not.toContain(SECRET);
    const { body: fine } = await viewer.post("/v2/flows/validate", {
      flow: calling({ Authorization: "Bearer {{in-0}}" }),
    });
    expect(fine.problems).toEqual([]);
  });
});

describe("viewer-secrets: the URL of a webhook", () => {
  it("is shown without query parameters in the list, in the webhook and in deliveries", async () => {
    const url = `${target.url}/hook?code=${SECRET}`;
    const made = await tenant.secret.post("/v2/webhooks/subscriptions", { url, events: ["run.*"] });
    expect(made.status).toBe(201);
    const path = `/v2/webhooks/subscriptions/${made.body.subscription_id}`;
    await expectMaskedFor("/v2/webhooks/subscriptions");
    await expectMaskedFor(path, { rest: `${target.url}/hook` });
    const { body: delivery } = await tenant.secret.post(`${path}/test`);
    const detail = `${path}/deliveries/${delivery.delivery_id}`;
    await expect.poll(async () => (await viewer.get(detail)).body.attempts_made.length).toBeGreaterThan(0);
    await expectMaskedFor(detail);
    expect(target.requests.some((request) => request.url === `/hook?code=${SECRET}`)).toBe(true);
  });
});

describe("viewer-secrets: other settings with URLs", () => {
  it("are shown without secrets: triggers", async () => {
    const project_id = await tenant.deploy(flow([input, out], ["in-0>out-0"]));
    const { status, body } = await tenant.secret.post("/v2/triggers", {
      project_id,
      provider_id: "http",
      trigger_id: "http.changed",
      config: { url: `${target.url}/status?token=${SECRET}`, every_minutes: 60 },
      inputs: { "in-0": "payload.value" },
      enabled: false,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    await expectMaskedFor("/v2/triggers");
    await expectMaskedFor(`/v2/triggers/${body.id}`);
  });

  it("are shown without secrets: evaluators", async () => {
    const config = { url: `${target.url}/score?token=${SECRET}` };
    const { status, body } = await tenant.secret.post("/v2/evals/evaluators", {
      name: "asks",
      type: "webhook",
      config,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    await expectMaskedFor("/v2/evals/evaluators");
    await expectMaskedFor(`/v2/evals/evaluators/${body.evaluator_id}`);
  });
});
