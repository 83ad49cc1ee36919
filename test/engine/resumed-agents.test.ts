import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub, type StubReply } from "../../src/dev/model-stub.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "./support.ts";

let stub: ModelStub;
let target: HttpTarget;
let bench: Bench;
let connection_id: string;
/** The shop's response to an order; some tests use a text that is too long for the run's record. */
let receipt = "ordered";

beforeAll(async () => {
  stub = await startModelStub();
  target = await startHttpTarget();
  bench = await openBench();
  const credential = { api_key: "sk-planted", base_url: `${stub.url}/v1` };
  const connection = { name: "M", provider_id: "openai_compatible", scheme: "api_key", credential };
  ({ connection_id } = (await bench.api.post("/v2/connections", connection)).body);
  target.on("/orders", (_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ receipt }));
  });
  target.on("/refused", (_, response) => {
    response.statusCode = 400;
    response.end("sold out");
  });
  const { status } = await bench.api.post("/v2/providers", { provider_id: "shop", openapi: shop(target.url) });
  expect(status).toBe(201);
});
beforeEach(() => {
  receipt = "ordered";
});
afterAll(async () => {
  await stub.close();
  await target.close();
});

function shop(url: string) {
  const post = (operationId: string) => ({
    post: { operationId, responses: { 200: { description: "ok" } } },
  });
  return {
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    servers: [{ url }],
    paths: { "/orders": post("order"), "/refused": post("refused") },
  };
}

const tool = (action_id: string, more: object = {}) => ({ type: "action", provider_id: "shop", action_id, ...more });
const orders = (name = "shop_order"): StubReply => ({ tools: [{ id: "call_0", name, input: {} }] });
const BROKEN: StubReply = { status: 400, error: "no such model" };
const SAID: StubReply = { text: ["It is done."] };

const llm = (config: object = {}, more: object = {}) => ({
  id: "llm-0",
  type: "llm",
  config: { model: "m", connection_id, prompt: "{{in-0}} for run {{run.id}}", tools: [tool("order")], ...config },
  ...more,
});
const agent = (config: object = {}, settings: object = {}) =>
  flow([{ id: "in-0", type: "input" }, llm(config), { id: "out-0", type: "output" }], ["in-0>llm-0", "llm-0>out-0"], {
    settings,
  });

async function resume(runId: string, body: object = { from: "failed" }): Promise<Run> {
  const answer = await bench.api.post(`/v2/runs/${runId}/resume`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return bench.until(answer.body.run_id);
}

/** Number of requests to the shop and to the model during `work`, and whether the model got the shop's response in the end. */
async function asked<T>(work: () => Promise<T>): Promise<{ done: T; orders: number; model: number; told: boolean }> {
  const [before, calls] = [target.hits("/orders"), stub.calls.length];
  const done = await work();
  const told = JSON.stringify(stub.calls.at(-1)?.body.messages).includes(receipt);
  return { done, orders: target.hits("/orders") - before, model: stub.calls.length - calls, told };
}

/** Which steps and calls of a node were reused. */
const reusedOf = (run: Run, id = "llm-0"): Record<string, boolean> =>
  Object.fromEntries(
    run.nodes.filter(({ path }) => path.startsWith(`${id}/`)).map(({ path, reused }) => [path, reused]),
  );

describe("a run that resumes where a model with tools failed", () => {
  it("repeats no tool call and makes only the model request that failed", async () => {
    stub.next(orders(), BROKEN);
    const failed = await asked(() => bench.run(agent(), { "in-0": "Order a coat" }));
    expect([failed.done.state, failed.orders]).toEqual(["FAILED", 1]);
    expect(Object.values(reusedOf(failed.done))).toEqual([false, false, false]);
    stub.next(SAID);
    const again = await asked(() => resume(failed.done.run_id));
    expect(again).toMatchObject({
      done: { state: "COMPLETED", outputs: { "out-0": "It is done." } },
      orders: 0,
      model: 1,
      told: true,
    });
    expect(reusedOf(again.done)).toEqual({ "llm-0/steps[0]": true, "llm-0/tools[0]": true, "llm-0/steps[1]": false });
    const nodes = nodesOf(again.done);
    expect([nodes["in-0"]?.reused, nodes["llm-0"]?.reused]).toEqual([true, false]);
    const before = nodesOf(failed.done)["llm-0/tools[0]"];
    expect(nodes["llm-0/tools[0]"]).toMatchObject({ state: "COMPLETED", output: before?.output, started_at: null });
  });

  it.each([
    ["longer than the record shows", {}],
    ["masked in the record", { redact: ['$.nodes["llm-0"].output'] }],
  ])("reuses outputs that are %s, and so does a second resume", async (_, settings) => {
    receipt = "r".repeat(40_000);
    stub.next(orders(), BROKEN, BROKEN, SAID);
    const all = await asked(async () => {
      const first = await bench.run(agent({}, settings), { "in-0": "Order a coat" });
      return resume((await resume(first.run_id, { from: "llm-0", inputs: { "in-0": "Order a coat" } })).run_id, {
        from: "llm-0",
        inputs: { "in-0": "Order a coat" },
      });
    });
    expect(all).toMatchObject({ done: { state: "COMPLETED" }, orders: 1, model: 4, told: true });
  });

  it.each([
    ["longer than the record shows", 40_000, {}],
    ["masked in the record", 10, { redact: ['$.nodes["llm-0"].output'] }],
  ])("reuses the output of a subflow tool that is %s, and so does a second resume", async (_, length, settings) => {
    receipt = "f".repeat(length);
    const order = { id: "http-0", type: "http", config: { method: "POST", url: `${target.url}/orders` } };
    const ordering = flow([order, { id: "out-0", type: "output" }], ["http-0>out-0"]);
    const tools = [{ type: "subflow", project_id: await bench.deploy(ordering), name: "order", description: "Orders" }];
    stub.next(orders("order"), BROKEN, BROKEN, SAID);
    const all = await asked(async () => {
      const first = await bench.run(agent({ tools }, settings), { "in-0": "Order a coat" });
      expect(first.state).toBe("FAILED");
      const second = await resume(first.run_id);
      expect(second.state).toBe("FAILED");
      return resume(second.run_id);
    });
    expect(all).toMatchObject({ done: { state: "COMPLETED" }, orders: 1, model: 4, told: true });
    expect(reusedOf(all.done)["llm-0/tools[0]"]).toBe(true);
  });

  it("repeats no tool call if only the time or the run ID in the prompt differs", async () => {
    const prompt = '{{in-0}} at {{ "now" | date: "%s%L" }} for run {{run.id}}';
    stub.next(orders(), BROKEN);
    const failed = await asked(() => bench.run(agent({ prompt }), { "in-0": "Order a coat" }));
    expect([failed.done.state, failed.orders]).toEqual(["FAILED", 1]);
    stub.next(SAID);
    const again = await asked(() => resume(failed.done.run_id));
    expect(again).toMatchObject({ done: { state: "COMPLETED" }, orders: 0, model: 1, told: true });
    stub.next(orders(), BROKEN, orders(), SAID);
    const other = await asked(async () =>
      resume((await bench.run(agent({ prompt }), { "in-0": "Order a coat" })).run_id, {
        from: "failed",
        inputs: { "in-0": "Order a hat" },
      }),
    );
    expect(other).toMatchObject({ done: { state: "COMPLETED" }, orders: 2, model: 4 });
  });

  it("reuses the error of a failed call", async () => {
    const tools = [tool("order"), tool("refused")];
    stub.next(orders("shop_refused"), orders(), BROKEN);
    const failed = await bench.run(agent({ tools }), { "in-0": "Order a coat" });
    const refused = target.hits("/refused");
    stub.next(SAID);
    const again = await asked(() => resume(failed.run_id));
    expect(again).toMatchObject({ done: { state: "COMPLETED" }, orders: 0, model: 1, told: true });
    expect(target.hits("/refused")).toBe(refused);
    const { error } = nodesOf(failed)["llm-0/tools[0]"] ?? {};
    expect(nodesOf(again.done)["llm-0/tools[0]"]).toMatchObject({ state: "FAILED", reused: true, error });
  });

  it("calls the model again if the prompt differs, or if the chosen node had finished", async () => {
    stub.next(orders(), BROKEN);
    const failed = await bench.run(agent(), { "in-0": "Order a coat" });
    stub.next(orders(), SAID);
    const other = await asked(() => resume(failed.run_id, { from: "failed", inputs: { "in-0": "Order a hat" } }));
    expect(other).toMatchObject({ done: { state: "COMPLETED" }, orders: 1, model: 2 });
    expect(Object.values(reusedOf(other.done))).toEqual([false, false, false]);
    stub.next(orders(), { text: ["Again."] });
    const anew = await asked(() => resume(other.done.run_id, { from_node: "llm-0" }));
    expect(anew).toMatchObject({ done: { outputs: { "out-0": "Again." } }, orders: 1, model: 2 });
  });

  it("does not ask for an approval again and shows the result of the call", async () => {
    const tools = [tool("order", { approval: true })];
    stub.next(orders(), BROKEN);
    const { run_id } = await bench.start(await bench.deploy(agent({ tools })), { "in-0": "Order a coat" });
    const [pause] = (await bench.until(run_id, "PAUSED")).pauses;
    const answer = { pause_id: pause?.pause_id, action: "approve" };
    expect((await bench.api.post(`/v2/runs/${run_id}/resume`, answer)).status).toBe(202);
    expect((await bench.until(run_id)).state).toBe("FAILED");
    stub.next(SAID);
    const again = await asked(() => resume(run_id));
    expect(again).toMatchObject({ done: { state: "COMPLETED", pauses: [] }, orders: 0, model: 1, told: true });
  });

  it("reuses finished steps also after a cancellation during a model request", async () => {
    stub.next(orders(), { text: ["a", "b"], pauseMs: 60_000 });
    const calls = stub.calls.length;
    const first = await asked(async () => {
      const { run_id } = await bench.start(await bench.deploy(agent()), { "in-0": "Order a coat" });
      await expect.poll(() => stub.calls.length, { timeout: 20_000 }).toBe(calls + 2);
      expect((await bench.api.post(`/v2/runs/${run_id}/cancel`, {})).status).toBe(202);
      return bench.until(run_id);
    });
    expect([first.done.state, first.orders]).toEqual(["CANCELLED", 1]);
    stub.next(SAID);
    expect(await asked(() => resume(first.done.run_id))).toMatchObject({
      done: { state: "COMPLETED" },
      orders: 0,
      model: 1,
      told: true,
    });
  });

  it("reuses finished steps also in an iteration and in a child run", async () => {
    const inner = nested([llm({ prompt: "{{item}}" }), { id: "o", type: "output" }], ["llm-0>o"]);
    const map = { id: "map-0", type: "map", config: { items: '["a", "b"]', max_concurrency: 1, flow: inner } };
    const mapped = flow([map, { id: "out-0", type: "output" }], ["map-0>out-0"]);
    stub.next(orders(), SAID, orders(), BROKEN);
    const failed = await asked(() => bench.run(mapped));
    expect([failed.done.state, failed.orders]).toEqual(["FAILED", 2]);
    stub.next(SAID);
    const again = await asked(() => resume(failed.done.run_id));
    expect(again).toMatchObject({
      done: { outputs: { "out-0": ["It is done.", "It is done."] } },
      orders: 0,
      model: 1,
      told: true,
    });

    const project_id = await bench.deploy(agent());
    const call = { id: "flow-0", type: "subflow", config: { project_id, inputs: { "in-0": '"Order a coat"' } } };
    const calling = flow([call, { id: "out-0", type: "output" }], ["flow-0>out-0"]);
    stub.next(orders(), BROKEN);
    const outer = await bench.run(calling);
    expect(outer.state).toBe("FAILED");
    stub.next(SAID);
    expect(await asked(() => resume(outer.run_id))).toMatchObject({
      done: { state: "COMPLETED" },
      orders: 0,
      model: 1,
      told: true,
    });
  });
});
