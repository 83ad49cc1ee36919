import { afterAll, beforeAll, expect, it } from "vitest";
import { flow } from "../../engine/support.ts";
import { startHttpTarget, type HttpTarget } from "../../support/http-target.ts";
import type { Answer } from "../../support/client.ts";
import { asking, echo, openTenant, type ApiTenant } from "../tenant.ts";

let tenant: ApiTenant;
let target: HttpTarget;
let long = "";
beforeAll(async () => {
  tenant = await openTenant();
  target = await startHttpTarget();
  target.on("/long", (_, response) => {
    response.end(long);
  });
});
afterAll(() => target.close());

type Flow = Parameters<ApiTenant["deploy"]>[0];

async function completed(definition: Flow, inputs: Record<string, unknown> = {}): Promise<Answer["body"]> {
  const given = { project_id: await tenant.deploy(definition), inputs, mode: "sync", wait_seconds: 20 };
  const { body } = await tenant.secret.post("/v2/runs", given);
  expect(body.state, JSON.stringify(body)).toBe("COMPLETED");
  return body;
}
const fork = (runId: string, body: unknown) => tenant.secret.post(`/v2/runs/${runId}/resume`, body);

/** The nodes that a run has reused. */
async function reused(runId: string): Promise<string[]> {
  await tenant.until(runId, "COMPLETED");
  const { body } = await tenant.secret.get(`/v2/runs/${runId}`, { query: { expand: "nodes" } });
  const nodes = body.nodes as Array<{ node_id: string; reused: boolean }>;
  return nodes.filter((node) => node.reused).map(({ node_id }) => node_id);
}

/** A flow that fetches, chooses a branch, and outputs the result. */
const chain = (path: string, more: object = {}): Flow =>
  flow(
    [
      { id: "in-0", type: "input", config: { required: false, default: "one" } },
      { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}${path}` } },
      { id: "if-0", type: "condition", config: { cases: [{ id: "ok", when: 'nodes["http-0"].status == 200' }] } },
      { id: "yes", type: "template", config: { template: "{{in-0}} {{ http-0.body | size }}" } },
      { id: "no", type: "template", config: { template: "no" } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>http-0", "http-0>if-0", "if-0:case:ok>yes", "if-0:else>no", "yes>out-0", "no>out-0"],
    { ...more },
  );

it.each([
  ["short", 10],
  ["longer than the record shows", 40_000],
  ["carried by reference", 200_000],
])("reuses the nodes before the chosen node, with values that are %s", async (_, length) => {
  long = "x".repeat(length);
  const run = await completed(chain("/long"), { "in-0": "one" });
  const hits = target.hits("/long");
  const { status, body, headers } = await fork(run.run_id, { from_node: "yes", inputs: { "in-0": "two" } });
  expect([status, headers.get("location")]).toEqual([202, `/v2/runs/${body.run_id}`]);
  expect(body).toMatchObject({ resumed_from: { run_id: run.run_id, node_id: "yes", path: "yes" }, flow_version: 1 });
  expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": `two ${length}` });
  expect((await reused(body.run_id)).toSorted()).toEqual(["http-0", "if-0"]);
  expect(target.hits("/long")).toBe(hits);
  const found = await tenant.secret.get("/v2/runs", { query: { resumed_from: run.run_id } });
  expect(found.body.data.map((each: { run_id: string }) => each.run_id)).toEqual([body.run_id]);
  // The earlier run itself is unchanged.
  const before = (await tenant.secret.get(`/v2/runs/${run.run_id}`)).body;
  expect(before).toMatchObject({ state: "COMPLETED", outputs: { "out-0": `one ${length}` } });
  expect(await reused(run.run_id)).toEqual([]);
});

it("runs the chosen node and the nodes after it with another version, and can itself be rerun", async () => {
  long = "abc";
  const run = await completed(chain("/long"));
  const other = chain("/long");
  const nodes = other.nodes.map((node) =>
    node.id === "yes" ? { ...node, config: { template: "better {{ http-0.body }}" } } : node,
  );
  const version = await tenant.secret.post(`/v2/projects/${run.project_id}/versions`, { flow: { ...other, nodes } });
  expect(version.status).toBe(201);
  const hits = target.hits("/long");
  const first = await fork(run.run_id, { from_node: "yes", flow_version: 2 });
  expect((await tenant.until(first.body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "better abc" });
  const second = await fork(first.body.run_id, { from_node: "out-0" });
  expect((await tenant.until(second.body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "better abc" });
  expect((await reused(second.body.run_id)).toSorted()).toEqual(["http-0", "if-0", "in-0", "yes"]);
  expect(target.hits("/long")).toBe(hits);
  const whole = await fork(run.run_id, { from_node: "in-0" });
  expect(await reused(whole.body.run_id)).toEqual([]);
  expect(target.hits("/long")).toBe(hits + 1);
});

it("reuses no masked values", async () => {
  long = "planted-secret";
  const masked = { settings: { redact: ['$.nodes["http-0"].output.body'] } };
  const run = await completed(chain("/long", masked));
  const hits = target.hits("/long");
  const { body } = await fork(run.run_id, { from_node: "yes" });
  expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "one 14" });
  expect(await reused(body.run_id)).not.toContain("http-0");
  expect(target.hits("/long")).toBe(hits + 1);
});

it("asks for a masked input again, also with a version that masks nothing", async () => {
  const run = await completed(chain("/long", { settings: { redact: ["$.inputs.in-0"] } }), { "in-0": "planted" });
  await tenant.secret.post(`/v2/projects/${run.project_id}/versions`, { flow: chain("/long") });
  const refused = await fork(run.run_id, { from_node: "yes", flow_version: 2 });
  expect([refused.status, refused.body.detail?.[0]?.loc]).toEqual([422, ["body", "inputs", "in-0"]]);
  const { body } = await fork(run.run_id, { from_node: "yes", flow_version: 2, inputs: { "in-0": "sent" } });
  expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": `sent ${long.length}` });
  // A flow that masks nothing may have the mask as an ordinary text.
  const quoted = await completed(chain("/long"), { "in-0": "[redacted]" });
  expect((await fork(quoted.run_id, { from_node: "yes" })).status).toBe(202);
});

it("rejects invalid requests with the location of the error", async () => {
  const run = await completed(echo(), { "in-0": "x" });
  for (const [body, place] of [
    [{ from_node: "nowhere" }, "from_node"],
    [{ from_node: "out-0", from: "out-0" }, "from_node"],
    [{ from_node: "out-0", version: 1, flow_version: 1 }, "flow_version"],
    [{ from_node: 7 }, "from_node"],
    [{ from_node: "out-0", action: "approve" }, "from_node"],
  ] as const) {
    const answer = await fork(run.run_id, body);
    expect([answer.status, answer.body.detail?.[0]?.loc], JSON.stringify(body)).toEqual([422, ["body", place]]);
  }
  const unknown = await fork(run.run_id, { from_node: "out-0", flow_version: 9 });
  expect([unknown.status, unknown.body.code]).toEqual([404, "flow_version_not_found"]);
  for (const body of [{ from: "failed" }, { flow_version: 1 }]) {
    const answer = await fork(run.run_id, body);
    expect([answer.status, answer.body.code]).toEqual([409, "run_not_resumable"]);
  }
  const paused = await tenant.secret.post("/v2/runs", {
    project_id: await tenant.deploy(asking()),
    inputs: {},
    mode: "sync",
  });
  const waiting = await fork(paused.body.run_id, { from_node: "out-0" });
  expect([waiting.status, waiting.body.code]).toEqual([409, "run_not_resumable"]);
  const others = await openTenant(tenant.target);
  expect((await others.secret.post(`/v2/runs/${run.run_id}/resume`, { from_node: "out-0" })).status).toBe(404);
  expect((await tenant.public.post(`/v2/runs/${run.run_id}/resume`, { from_node: "out-0" })).status).toBe(403);
});

it("reuses a skipped node, and asks again for a decision made after the chosen node", async () => {
  const skipping = flow(
    [
      { id: "in-0", type: "input", config: { required: false, default: "one" } },
      { id: "tpl-0", type: "template", skip_if: "true", config: { template: "never" } },
      { id: "tpl-1", type: "template", config: { template: "after" } },
      { id: "out-0", type: "output" },
    ],
    ["in-0>tpl-0", "in-0>tpl-1", "tpl-0>out-0", "tpl-1>out-0"],
  );
  const run = await completed(skipping);
  const { body } = await fork(run.run_id, { from_node: "tpl-1" });
  expect((await tenant.until(body.run_id, "COMPLETED")).outputs).toEqual(run.outputs);
  expect((await reused(body.run_id)).toSorted()).toEqual(["in-0", "tpl-0"]);

  const started = await tenant.secret.post("/v2/runs", {
    project_id: await tenant.deploy(asking()),
    inputs: {},
    mode: "sync",
  });
  const { run_id, pauses } = started.body;
  await fork(run_id, { pause_id: pauses[0].pause_id, action: "reject" });
  await tenant.until(run_id, "COMPLETED");
  const after = await fork(run_id, { from_node: "no" });
  expect((await tenant.until(after.body.run_id, "COMPLETED")).outputs).toEqual({ "out-0": "no" });
  const again = await fork(run_id, { from_node: "approval-0" });
  await tenant.until(again.body.run_id, "PAUSED");
});
