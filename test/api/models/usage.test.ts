import { afterAll, beforeAll, expect, it } from "vitest";
import { COUNTED, startModelStub, type ModelStub } from "../../../src/dev/model-stub.ts";
import { edges, flow, node } from "../../support/flows.ts";
import { openTenant, type ApiTenant } from "../tenant.ts";

const PRICED = "gpt-4o-mini";
const COST = ((COUNTED.input - COUNTED.cached) * 0.15 + COUNTED.cached * 0.075 + COUNTED.output * 0.6) / 1_000_000;
const TOTAL = COUNTED.input + COUNTED.output;

let stub: ModelStub;
let mine: ApiTenant;
beforeAll(async () => {
  stub = await startModelStub();
  mine = await openTenant();
  const credential = { base_url: `${stub.url}/v1` };
  const connection = { name: "stub", provider_id: "openai_compatible", scheme: "none", credential };
  const { body } = await mine.secret.post("/v2/connections", connection);
  const defaults = { default_connection_id: body.connection_id, default_model: PRICED };
  expect((await mine.secret.patch("/v2/settings", defaults)).status).toBe(200);
});
afterAll(() => stub.close());

const asking = (...models: readonly string[]) =>
  flow({
    nodes: [
      ...models.map((model, n) => node(`llm-${n}`, "llm", { model, prompt: "Say it" })),
      node("out-0", "output", { value: "done" }),
    ],
    edges: edges([...models.map((_, n) => `llm-${n}`), "out-0"].join(" > ")),
  });

async function run(project: string) {
  return (await mine.public.post(`/inference/v0/run/${mine.org_id}/${project}`, {})).body;
}

it("usage is counted for the node, its run, and the parent runs", async () => {
  const asked = await mine.deploy(asking(PRICED, PRICED));
  const both = { input_tokens: 2 * COUNTED.input, output_tokens: 2 * COUNTED.output, total_tokens: 2 * TOTAL };
  const { metadata, run_id } = await run(asked);
  expect(metadata.usage).toMatchObject({ ...both, estimated: false });
  expect(metadata.usage.cost_usd).toBeCloseTo(2 * COST, 12);
  const { body } = await mine.secret.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } });
  expect(body.usage).toEqual(metadata.usage);
  const [first] = body.nodes.filter((each: { node_id: string }) => each.node_id === "llm-0");
  expect(first.usage).toMatchObject({ input_tokens: COUNTED.input, total_tokens: TOTAL });

  const calling = flow({
    nodes: [
      node("sub-0", "subflow", { project_id: asked, inputs: {} }),
      node("llm-0", "llm", { prompt: "x" }),
      node("out-0", "output"),
    ],
    edges: edges("sub-0 > llm-0 > out-0"),
  });
  const parent = await run(await mine.deploy(calling));
  expect(parent.metadata.usage.total_tokens).toBe(3 * TOTAL);
});

it("the usage of a run that is cancelled while a model writes counts what was written", async () => {
  const asked = await mine.deploy(asking(PRICED));
  stub.next({ text: Array.from({ length: 200 }, () => "word "), pauseMs: 100 });
  const calls = stub.calls.length;
  const { body: started } = await mine.secret.post("/v2/runs", { project_id: asked, inputs: {} });
  await expect.poll(() => stub.calls.length).toBeGreaterThan(calls);
  // By then, some of the two hundred words have arrived, however slow the machine is.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await mine.secret.post(`/v2/runs/${started.run_id}/cancel`, {});
  await mine.until(started.run_id, "CANCELLED");
  const usage = async () => (await mine.secret.get(`/v2/runs/${started.run_id}`)).body.usage;
  await expect.poll(async () => (await usage()).output_tokens).toBeGreaterThan(0);
  expect((await usage()).estimated).toBe(true);
});

it("cost is null if a model has no price, and usage is estimated if the endpoint reports none", async () => {
  const { metadata } = await run(await mine.deploy(asking("of-our-own", PRICED)));
  expect(metadata.usage).toMatchObject({ total_tokens: 2 * TOTAL, cost_usd: null, estimated: false });
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  stub.next({ raw: `${chunk({ content: "12345678" }, null)}${chunk({}, "stop")}data: [DONE]\n\n` });
  const uncounted = await run(await mine.deploy(asking("of-our-own")));
  expect(uncounted.metadata.usage).toMatchObject({ output_tokens: 2, estimated: true });
});

it("usage is summed by project, model and day", async () => {
  const other = await openTenant();
  expect((await other.secret.get("/v2/usage")).body.data).toEqual([]);
  const project = await mine.deploy(asking("summed", "summed"));
  await run(project);
  const by = async (group_by: string, more = {}) =>
    (await mine.secret.get("/v2/usage", { query: { group_by, ...more } })).body;
  const counted = { calls: 2, total_tokens: 2 * TOTAL, cached_tokens: 2 * COUNTED.cached, calls_without_price: 2 };
  const find = ({ data }: { data: { key: string }[] }, key: string) => data.find((row) => row.key === key);
  expect(find(await by("model"), "summed")).toMatchObject(counted);
  expect(find(await by("project"), project)).toMatchObject(counted);
  expect((await by("project", { model: "summed" })).data).toEqual([
    expect.objectContaining({ key: project, ...counted }),
  ]);
  expect((await by("project", { model: "nobody" })).data).toEqual([]);
  const { data, from, to } = await by("day");
  expect([data.length, from < to]).toEqual([1, true]);
  expect(data[0].key).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect((await by("day", { from: "2020-01-01T00:00:00Z", to: "2020-02-01T00:00:00Z" })).data).toEqual([]);
  expect((await mine.secret.get("/v2/usage", { query: { group_by: "hour" } })).status).toBe(422);
  expect((await mine.public.get("/v2/usage")).status).toBe(403);
});

it("a flow's cost limit stops the run before the next model call", async () => {
  const definition = { ...asking(PRICED, PRICED, PRICED), settings: { max_cost_usd: 1.5 * COST } };
  const before = stub.calls.length;
  const { error, state } = await run(await mine.deploy(definition));
  expect([state, error.code, error.node_id, error.retryable]).toEqual(["FAILED", "budget_exceeded", "llm-2", false]);
  expect(stub.calls.length - before).toBe(2);
  // Child runs share the budget of their run.
  const asked = await mine.deploy(asking(PRICED, PRICED));
  const calling = flow({
    nodes: [node("sub-0", "subflow", { project_id: asked, inputs: {} }), node("out-0", "output")],
    edges: edges("sub-0 > out-0"),
  });
  const within = await run(await mine.deploy({ ...calling, settings: { max_cost_usd: COST } }));
  expect(within.state).toBe("FAILED");
  expect(within.error.message).toContain("max_cost_usd");
});

it("a cost limit rejects a model without a price, and the flow's validation warns of it", async () => {
  const definition = { ...asking(PRICED, "of-our-own"), settings: { max_cost_usd: 1 } };
  const { body: checked } = await mine.secret.post("/v2/flows/validate", { flow: definition });
  const found = checked.problems.map((each: Record<string, string>) => [
    each["code"],
    each["severity"],
    each["node_id"],
  ]);
  expect([checked.valid, found]).toEqual([true, [["model_not_priced", "warning", "llm-1"]]]);
  const fallback = { ...asking(PRICED), settings: { max_cost_usd: 1 } };
  Object.assign(fallback.nodes[0]?.config ?? {}, { fallback_models: [PRICED, "no-price-1", "no-price-2"] });
  const { body: warned } = await mine.secret.post("/v2/flows/validate", { flow: fallback });
  expect(warned.problems.map((each: Record<string, string>) => [each["code"], each["message"]])).toEqual([
    ["model_not_priced", expect.stringContaining("no-price-1")],
    ["model_not_priced", expect.stringContaining("no-price-2")],
  ]);
  const before = stub.calls.length;
  const { error, state } = await run(await mine.deploy(definition));
  expect([state, error.code, error.node_id, error.retryable]).toEqual(["FAILED", "model_not_priced", "llm-1", false]);
  expect(stub.calls.length - before).toBe(1);
});
