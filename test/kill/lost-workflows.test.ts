import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelStub, type ModelStub, type StubReply } from "../../src/dev/model-stub.ts";
import { runWorkflowId, sliceWorkflowId } from "../../src/temporal/ids.ts";
import { flow, nested, nodesOf, openBench, type Bench, type Run } from "../engine/support.ts";
import { withTemporal } from "../support/histories.ts";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { LONG } from "../support/long.ts";
import { eventually } from "../support/scratch.ts";
import { startService, type OwnService } from "../support/service.ts";
import { loseWorkflow } from "./lose-workflow.ts";

let own: OwnService;
let bench: Bench;
let target: HttpTarget;
const stubs: ModelStub[] = [];
beforeAll(async () => {
  [own, target] = await Promise.all([
    // Blobs are encrypted, so reading values that are too long for the record also tests decryption.
    startService({ env: { MILLRACE_STUCK_AFTER_MS: "1000", MILLRACE_SEAL_BLOBS: "on" } }),
    startHttpTarget(),
  ]);
  bench = await openBench(own);
  const operations = ["order", "wait"].map((operationId) => [
    `/${operationId}`,
    { post: { operationId, responses: { 200: { description: "ok" } } } },
  ]);
  const openapi = {
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    servers: [{ url: target.url }],
    paths: Object.fromEntries(operations),
  };
  expect((await bench.api.post("/v2/providers", { provider_id: "shop", openapi })).status).toBe(201);
});
afterAll(async () => {
  await own?.close();
  await target?.close();
  for (const stub of stubs) await stub.close();
});

const input = { id: "in-0", type: "input" };
const out = { id: "out-0", type: "output" };
const post = (id: string, path: string, more: object = {}) => ({
  id,
  type: "http",
  config: { method: "POST", url: `${target.url}${path}`, ...more },
});
const asks = { id: "approval-0", type: "approval", config: { message: "?" } };

/** A model with the shop's two tools, behind its own stand-in server. */
async function startAgent() {
  const stub = await startModelStub();
  stubs.push(stub);
  const credential = { api_key: "sk-planted", base_url: `${stub.url}/v1` };
  const connection = { name: "M", provider_id: "openai_compatible", scheme: "api_key", credential };
  const { connection_id } = (await bench.api.post("/v2/connections", connection)).body;
  const tools = ["order", "wait"].map((action_id) => ({ type: "action", provider_id: "shop", action_id }));
  const llm = { id: "llm-0", type: "llm", config: { model: "m", connection_id, prompt: "Order", tools } };
  const { run_id } = await bench.start(await bench.deploy(flow([llm, out], ["llm-0>out-0"])));
  return { stub, run_id };
}
const calls = (name: string): StubReply => ({ tools: [{ id: `call_${name}`, name: `shop_${name}`, input: {} }] });
/** The requests to a model, in order. */
const asked = ({ calls: all }: ModelStub) => all.filter(({ path }) => path.endsWith("/chat/completions"));
const DONE: StubReply = { text: ["It is done."] };

/** Deletes a run's workflow; resolves when a new one exists, or with `orEnded` also when the run has finished. */
async function lose(runId: string, { orEnded = false } = {}): Promise<void> {
  const lost = await loseWorkflow(own, runId);
  await withTemporal(own.temporalAddress, async (client) => {
    const handle = client.workflow.getHandle(runWorkflowId(runId));
    await eventually("the run goes on in another workflow", async () => {
      const found = await handle.describe().catch(() => null);
      if (found !== null && found.runId !== lost) return true;
      const { state, state_reason } = (await bench.api.get(`/v2/runs/${runId}`)).body;
      if (orEnded && state === "FAILED") return true;
      expect([state, state_reason]).not.toContain("workflow_terminated");
      return false;
    });
  });
}

/** Number of requests of each node of a run to the target, by path. */
const callsOf = (runId: string): Record<string, number> =>
  Object.fromEntries(
    [...target.counts()].flatMap(([key, count]) =>
      key.startsWith(`${runId}:`) ? [[key.slice(runId.length + 1), count]] : [],
    ),
  );
const hits = (path: string) => eventually(`${path} is called`, () => target.hits(path) > 0);

// Concurrent, because each test mostly waits for the sweeper.
describe.concurrent("a run whose workflow is lost", () => {
  it("fails with outcome_unknown if an action that must not be repeated was in progress", async () => {
    const release = target.hold("/effect");
    const action = {
      id: "action-0",
      type: "action",
      config: {
        provider_id: "http",
        action_id: "request",
        inputs: { method: "POST", url: `${target.url}/effect` },
      },
      retry: { max_attempts: 5, initial_interval_ms: 10 },
    };
    const { run_id } = await bench.start(await bench.deploy(flow([action, out], ["action-0>out-0"])));
    await hits("/effect");
    await lose(run_id);
    const run = await bench.until(run_id);
    release();
    expect(run).toMatchObject({ state: "FAILED", error: { code: "outcome_unknown", node_id: "action-0" } });
    expect(target.hits("/effect")).toBe(1);
  });

  it("repeats a call that was in progress, with the same Idempotency-Key", async () => {
    const release = target.hold("/again");
    const { run_id } = await bench.start(
      await bench.deploy(flow([post("http-0", "/first"), post("http-1", "/again"), out], ["http-0>http-1>out-0"])),
    );
    await hits("/again");
    await lose(run_id);
    await eventually("it is called again", () => target.hits("/again") === 2);
    release();
    expect((await bench.until(run_id)).state).toBe("COMPLETED");
    expect(callsOf(run_id)).toEqual({ "http-0": 1, "http-1": 2 });
  });

  it("continues in the iteration of a loop and the item of a map where it was", async () => {
    const release = target.hold("/hold");
    const round = [
      post("http-1", "/{% if index == 1 %}hold{% else %}pass{% endif %}"),
      { id: "o", type: "output", config: { value: "{{last}}{{index}}" } },
    ];
    const first = post("http-0", "/round", { body: { last: "{{last}}" } });
    const loop = {
      id: "loop-0",
      type: "loop",
      config: {
        while: "index < 3",
        initial: '"r"',
        max_iterations: 5,
        flow: nested([first, ...round], ["http-0>http-1>o"]),
      },
    };
    const map = {
      id: "map-0",
      type: "map",
      config: {
        items: '["a", "b"]',
        flow: nested(
          [
            post("http-0", "/item"),
            post("http-1", "/{% if index == 1 %}hold{% else %}pass{% endif %}"),
            { id: "o", type: "output", config: { value: "{{item}}" } },
          ],
          ["http-0>http-1>o"],
        ),
      },
    };
    const outputs = [out, { id: "out-1", type: "output" }];
    const { run_id } = await bench.start(
      await bench.deploy(flow([loop, map, ...outputs], ["loop-0>out-0", "map-0>out-1"])),
    );
    await eventually("both are in the middle", () => target.hits("/hold") === 2);
    await lose(run_id);
    await eventually("the open calls are made again", () => target.hits("/hold") === 4);
    release();
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "r012", "out-1": ["a", "b"] } });
    const once = ["loop-0[0]", "loop-0[1]", "loop-0[2]", "map-0[0]", "map-0[1]"].flatMap((at) => [
      [`${at}/http-0`, 1],
      [`${at}/http-1`, at.endsWith("[1]") ? 2 : 1],
    ]);
    expect(callsOf(run_id)).toEqual(Object.fromEntries(once));
  });

  it.runIf(LONG)("reuses the results of a map's slices, and opens an approval in them again", async () => {
    const release = target.hold("/last");
    const items = `[${Array.from({ length: 251 }, (_, index) => index).join(",")}]`;
    const inner = nested(
      [
        { id: "if-0", type: "condition", config: { cases: [{ id: "ask", when: "index == 250" }] } },
        asks,
        post("http-0", "/{% if index == 249 %}last{% else %}pass{% endif %}"),
        { id: "o", type: "output", config: { value: "{{item}}" } },
      ],
      ["if-0:case:ask>approval-0", "approval-0:approve>http-0", "if-0:else>http-0", "http-0>o"],
    );
    const map = { id: "map-0", type: "map", config: { items, max_concurrency: 50, flow: inner } };
    const { run_id } = await bench.start(await bench.deploy(flow([map, out], ["map-0>out-0"])));
    const openPauses = async () => (await bench.api.get(`/v2/runs/${run_id}`)).body.pauses as Run["pauses"];
    await eventually("all others are recorded", async () => {
      const { nodes } = (await bench.api.get(`/v2/runs/${run_id}`, { query: { expand: "nodes" } })).body;
      const calls = (nodes as Run["nodes"]).filter(
        ({ node_id, state }) => node_id === "http-0" && state === "COMPLETED",
      );
      return calls.length === 249;
    });
    await hits("/last");
    const [pause] = await eventually("a person is asked", async () => {
      const pauses = await openPauses();
      return pauses.length > 0 && pauses;
    });
    await lose(run_id);
    await eventually("the open call is made again", () => target.hits("/last") === 2);
    release();
    await bench.until(run_id, "PAUSED");
    expect((await openPauses()).map(({ pause_id, status }) => [pause_id, status])).toEqual([
      [pause?.pause_id, "waiting"],
    ]);
    expect((await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" })).status).toBe(202);
    const run = await bench.until(run_id);
    expect([run.state, run.outputs["out-0"].length]).toEqual(["COMPLETED", 251]);
    expect(run.nodes.filter(({ state }) => state !== "COMPLETED" && state !== "SKIPPED")).toEqual([]);
    expect(Object.entries(callsOf(run_id)).filter(([, count]) => count > 1)).toEqual([["map-0[249]/http-0", 2]]);
  });

  it.runIf(LONG)("waits for a slice of the lost workflow that still exists", async () => {
    const release = target.hold("/hold-5");
    const inner = nested(
      [
        { id: "if-0", type: "condition", config: { cases: [{ id: "call", when: "index == 5 || index == 251" }] } },
        post("http-0", "/hold-{{index}}"),
        { id: "o", type: "output", config: { value: "{{index}}" } },
      ],
      ["if-0:case:call>http-0", "http-0>o", "if-0:else>o"],
    );
    const config = { while: "index < 252", max_iterations: 300, flow: inner };
    const loop = { id: "loop-0", type: "loop", config };
    const { run_id } = await bench.start(await bench.deploy(flow([loop, out], ["loop-0>out-0"])));
    await hits("/hold-5");
    await withTemporal(own.temporalAddress, async (client) => {
      const workflowId = sliceWorkflowId(run_id, "loop-0", 250);
      const slice = await client.workflow.start("runSlice", { workflowId, taskQueue: "nobody", args: [] });
      await lose(run_id);
      await eventually("the open call is made again", () => target.hits("/hold-5") === 2);
      release();
      await eventually("it has met the slice", async () => {
        const history = await client.workflow.getHandle(runWorkflowId(run_id)).fetchHistory();
        return history.events?.some((event) => event.startChildWorkflowExecutionFailedEventAttributes);
      });
      await slice.terminate("it has ended");
    });
    expect(await bench.until(run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "251" } });
    expect(callsOf(run_id)).toEqual({ "loop-0[5]/http-0": 2, "loop-0[251]/http-0": 1 });
  });

  it("does not repeat a model call that was answered, nor a tool call", async () => {
    const release = target.hold("/wait");
    const { stub, run_id } = await startAgent();
    stub.next(calls("order"), calls("wait"), DONE);
    await hits("/wait");
    await lose(run_id);
    const run = await bench.until(run_id);
    release();
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "It is done." } });
    expect(callsOf(run_id)).toEqual({ "llm-0/tools[0]": 1, "llm-0/tools[1]": 1 });
    expect(asked(stub)).toHaveLength(3);
    expect(nodesOf(run)["llm-0/tools[1]"]?.error).toMatchObject({ code: "outcome_unknown" });
    // The model is told about both calls.
    const told = JSON.stringify(asked(stub)[2]?.body.messages);
    expect([told.includes("/order"), told.includes("outcome_unknown")]).toEqual([true, true]);
  });

  it("repeats a model call whose answer was streaming, with the results of earlier tool calls", async () => {
    const { stub, run_id } = await startAgent();
    stub.next(calls("order"), { text: ["It is", " not to be."], pauseMs: 60_000 }, DONE);
    await eventually("it answers", () => asked(stub).length === 2);
    await lose(run_id);
    expect(await bench.until(run_id)).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "It is done." } });
    expect(callsOf(run_id)).toEqual({ "llm-0/tools[0]": 1 });
    expect(asked(stub)).toHaveLength(3);
    expect(JSON.stringify(asked(stub)[2]?.body.messages)).toContain("/order");
  });

  it("uses long values in full", async () => {
    // Longer than what histories and the record hold.
    const long = (letter: string): string => letter.repeat(200_000);
    const nodes = [
      input,
      post("http-0", "/long", { body: { text: "{{in-0}}" } }),
      asks,
      post("http-1", "/after", { body: { text: "{{http-0.body.body}}" } }),
      { ...out, config: { value: "{{http-0.body.body}} {{in-0}}" } },
    ];
    const definition = flow(nodes, ["in-0>http-0>approval-0", "approval-0:approve>http-1>out-0"]);
    const { run_id } = await bench.start(await bench.deploy(definition), { "in-0": long("i") });
    await bench.until(run_id, "PAUSED");
    await lose(run_id);
    expect((await bench.api.post(`/v2/runs/${run_id}/resume`, { action: "approve" })).status).toBe(202);
    const { state, outputs } = await bench.until(run_id);
    const sent = JSON.stringify({ text: long("i") });
    expect([state, outputs["out-0"] === `${sent} ${long("i")}`]).toEqual(["COMPLETED", true]);
    expect(callsOf(run_id)).toEqual({ "http-0": 1, "http-1": 1 });
    const after = target.requests.find(({ path }) => path === "/after");
    expect(after?.body === JSON.stringify({ text: sent })).toBe(true);
    // The record has the complete values, encrypted and read page by page.
    const pages: string[] = [];
    for (let offset: number | null = 0; offset !== null;) {
      const query = { path: "http-0", offset, limit: 100_003 };
      const { body } = await bench.api.get(`/v2/runs/${run_id}/node/value`, { query });
      pages.push(body.text);
      ({ next_offset: offset } = body);
    }
    expect([pages.length > 2, JSON.parse(pages.join("")).body.body === sent]).toEqual([true, true]);
  });

  it("continues three times, and fails with workflow_lost the fourth time", async () => {
    const { run_id } = await bench.start(
      await bench.deploy(flow([post("http-0", "/once"), asks, out], ["http-0>approval-0", "approval-0:approve>out-0"])),
    );
    const { pauses } = await bench.until(run_id, "PAUSED");
    for (let losses = 1; losses <= 3; losses += 1) {
      await lose(run_id);
      const { body } = await bench.api.get(`/v2/runs/${run_id}`);
      expect([losses, body.state, body.pauses]).toEqual([losses, "PAUSED", pauses]);
    }
    await lose(run_id, { orEnded: true });
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "FAILED", state_reason: "workflow_lost", error: { code: "workflow_lost" } });
    expect(run.nodes.map(({ path, state }) => [path, state])).toEqual([
      ["http-0", "COMPLETED"],
      ["approval-0", "CANCELLED"],
    ]);
    expect(callsOf(run_id)).toEqual({ "http-0": 1 });
    const late = await bench.api.post(`/v2/runs/${run_id}/resume`, {
      pause_id: pauses[0]?.pause_id,
      action: "approve",
    });
    expect(late.status).toBe(409);
  });
});
