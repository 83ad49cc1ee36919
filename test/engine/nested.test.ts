import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpTarget, type HttpTarget } from "../support/http-target.ts";
import { flow, nested, nodesOf, openBench, type Bench } from "./support.ts";

let bench: Bench;
let target: HttpTarget;
beforeAll(async () => {
  [bench, target] = await Promise.all([openBench(), startHttpTarget()]);
});
afterAll(() => target.close());

const out = { id: "out-0", type: "output" };
const mapOf = (items: string, inner: unknown, config: Record<string, unknown> = {}) =>
  flow(
    [
      { id: "in-0", type: "input", config: { required: false, default: "x" } },
      { id: "map-0", type: "map", config: { items, flow: inner, ...config } },
      out,
    ],
    ["in-0>map-0", "map-0>out-0"],
  );

describe("a map", () => {
  it("returns one value per item in order, and its nodes see item, index and the outer flow", async () => {
    const inner = nested(
      [
        { id: "tpl-0", type: "template", config: { template: "{{in-0}}:{{index}}:{{item.name}}" } },
        { id: "o", type: "output" },
      ],
      ["tpl-0>o"],
    );
    const run = await bench.run(mapOf('[{"name": "a"}, {"name": "b"}, {"name": "c"}]', inner));
    expect(run.outputs).toEqual({ "out-0": ["x:0:a", "x:1:b", "x:2:c"] });
    expect(nodesOf(run)["map-0[1]/tpl-0"]).toMatchObject({ node_id: "tpl-0", state: "COMPLETED", output: "x:1:b" });
  });

  it("returns one object per item if the nested flow has several outputs, and an empty list for no items", async () => {
    const inner = nested(
      [
        { id: "set-0", type: "set", config: { values: { v: "item * 2" } } },
        { id: "o", type: "output" },
        { id: "p", type: "output", config: { value: "{{item}}" } },
      ],
      ["set-0>o", "set-0>p"],
    );
    expect((await bench.run(mapOf("[1, 2]", inner))).outputs).toEqual({
      "out-0": [
        { o: { v: 2 }, p: "1" },
        { o: { v: 4 }, p: "2" },
      ],
    });
    expect((await bench.run(mapOf("[]", inner))).outputs).toEqual({ "out-0": [] });
  });

  it("runs at most max_concurrency items at the same time", async () => {
    let most = 0;
    target.on("/watched", async (_request, response) => {
      most = Math.max(most, target.active());
      await new Promise((resolve) => setTimeout(resolve, 60));
      response.end("{}");
    });
    const inner = nested(
      [
        { id: "http-0", type: "http", config: { method: "GET", url: `${target.url}/watched` } },
        { id: "o", type: "output", config: { value: "{{index}}" } },
      ],
      ["http-0>o"],
    );
    const run = await bench.run(mapOf("[0,1,2,3,4,5,6,7]", inner, { max_concurrency: 3 }));
    expect(run.outputs).toEqual({ "out-0": ["0", "1", "2", "3", "4", "5", "6", "7"] });
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(1);
  });

  const picky = nested(
    [
      { id: "guard-0", type: "guard", config: { check: "item != 2", message: "two" } },
      { id: "o", type: "output", config: { value: "{{item}}" } },
    ],
    ["guard-0>o"],
  );
  it.concurrent.each([
    ["fail", { state: "FAILED", error: { code: "guard_failed", node_id: "guard-0" } }],
    ["skip", { state: "COMPLETED", outputs: { "out-0": ["1", "3"] } }],
    [
      "collect",
      { state: "COMPLETED", outputs: { "out-0": ["1", { error: { code: "guard_failed", node_id: "guard-0" } }, "3"] } },
    ],
  ])("on_item_error %s", async (on_item_error, expected) => {
    expect(await bench.run(mapOf("[1, 2, 3]", picky, { on_item_error }))).toMatchObject(expected);
  });

  it("that fails cancels its running items and starts no more", async () => {
    const inner = nested(
      [
        { id: "guard-0", type: "guard", config: { check: "item != 2", message: "two" } },
        { id: "delay-0", type: "delay", config: { seconds: 3600 } },
        { id: "o", type: "output" },
      ],
      ["guard-0>delay-0", "delay-0>o"],
    );
    const run = await bench.run(mapOf("[1, 2, 3]", inner, { max_concurrency: 2 }));
    expect(run).toMatchObject({ state: "FAILED", error: { code: "guard_failed" } });
    expect(nodesOf(run)["map-0[0]/delay-0"]?.state).toBe("CANCELLED");
    expect(nodesOf(run)["map-0[2]/guard-0"]).toBeUndefined();
  });

  it("can be nested, with paths that show the location of each node", async () => {
    const inmost = nested(
      [
        {
          id: "code-0",
          type: "code",
          config: { source: "function main({a, b}) { return a * b }", args: { a: "item", b: "index" } },
        },
        { id: "p", type: "output" },
      ],
      ["code-0>p"],
    );
    const inner = nested(
      [
        { id: "map-1", type: "map", config: { items: "item", flow: inmost } },
        { id: "o", type: "output" },
      ],
      ["map-1>o"],
    );
    const run = await bench.run(mapOf("[[1, 2], [3, 4]]", inner));
    expect(run.outputs).toEqual({
      "out-0": [
        [0, 2],
        [0, 4],
      ],
    });
    expect(nodesOf(run)["map-0[1]/map-1[1]/code-0"]).toMatchObject({ state: "COMPLETED", output: 4 });
  });

  it("runs 1000 items without activities", async () => {
    const items = `[${Array.from({ length: 1000 }, (_, at) => at).join(",")}]`;
    const inner = nested(
      [
        { id: "tpl-0", type: "template", config: { template: "n{{item}}" } },
        { id: "o", type: "output" },
      ],
      ["tpl-0>o"],
    );
    const run = await bench.run(mapOf(items, inner));
    expect(run.state).toBe("COMPLETED");
    expect(run.outputs["out-0"]).toHaveLength(1000);
    expect(run.outputs["out-0"][999]).toBe("n999");
    // Two nodes per item and two around them: more than the response holds, which it reports.
    expect(run).toMatchObject({ nodes_truncated: true });
    expect(run.nodes).toHaveLength(2000);
  });

  it("that is long and has nodes that take time is split into slices, with the same outcome", async () => {
    const inner = nested(
      [
        { id: "delay-0", type: "delay", config: { seconds: 0 } },
        { id: "o", type: "output", config: { value: "{{item.n}}" } },
      ],
      ["delay-0>o"],
    );
    const definition = flow(
      [
        { id: "in-0", type: "input" },
        { id: "set-0", type: "set", config: { values: { list: 'json(nodes["in-0"])' } } },
        { id: "map-0", type: "map", config: { items: 'nodes["set-0"].list', flow: inner, max_concurrency: 100 } },
        out,
      ],
      ["in-0>set-0", "set-0>map-0", "map-0>out-0"],
    );
    const list = Array.from({ length: 600 }, (_, n) => ({ n, padding: "p".repeat(200) }));
    const run = await bench.run(definition, { "in-0": JSON.stringify(list) });
    expect(run.state, JSON.stringify(run.error)).toBe("COMPLETED");
    expect(run.outputs["out-0"]).toEqual(list.map(({ n }) => String(n)));
  });

  it.each([
    ["an item fails", { guard: "item != 3", timeout_ms: undefined, code: "guard_failed" }],
    ["its time is up", { guard: "true", timeout_ms: 1500, code: "node_timeout" }],
  ])("in slices starts no more items once %s", async (_when, { guard, timeout_ms, code }) => {
    const inner = nested(
      [
        { id: "guard-0", type: "guard", config: { check: guard, message: "no" } },
        { id: "post-0", type: "http", config: { method: "POST", url: `${target.url}/item-${code}` } },
        { id: "o", type: "output" },
      ],
      ["guard-0>post-0", "post-0>o"],
    );
    const mark = (id: string) => ({
      id,
      type: "http",
      config: { method: "POST", url: `${target.url}/${id}-${code}` },
    });
    const run = await bench.run(
      flow(
        [
          { id: "code-0", type: "code", config: { source: "function main() { return [...Array(700).keys()]; }" } },
          {
            id: "map-0",
            type: "map",
            on_error: "branch",
            ...(timeout_ms === undefined ? {} : { timeout_ms }),
            config: { items: "nodes['code-0']", flow: inner, max_concurrency: 1 },
          },
          mark("begin"),
          { id: "delay-0", type: "delay", config: { seconds: 2 } },
          mark("end"),
          { ...out, config: { value: "{{map-0.error.code}}" } },
        ],
        ["code-0>map-0", "map-0:error>begin", "begin>delay-0", "delay-0>end", "end>out-0", "map-0>out-0"],
      ),
    );
    expect(run.outputs).toEqual({ "out-0": code });
    const paths = target.requests.map(({ path }) => path);
    const [from, to] = [paths.indexOf(`/begin-${code}`), paths.indexOf(`/end-${code}`)];
    expect(from).toBeGreaterThan(-1);
    // Each slice may still send one request that was in flight when it was cancelled.
    const late = paths.slice(from, to).filter((path) => path === `/item-${code}`);
    expect(late.length).toBeLessThanOrEqual(3);
  });

  it("in slices stops when its run is cancelled", async () => {
    const inner = nested(
      [
        { id: "post-0", type: "http", config: { method: "POST", url: `${target.url}/item-cancelled` } },
        { id: "o", type: "output" },
      ],
      ["post-0>o"],
    );
    const items = {
      id: "code-0",
      type: "code",
      config: { source: "function main() { return [...Array(700).keys()]; }" },
    };
    const map = { id: "map-0", type: "map", config: { items: "nodes['code-0']", flow: inner, max_concurrency: 1 } };
    const project = await bench.deploy(flow([items, map, out], ["code-0>map-0", "map-0>out-0"]));
    const { run_id } = await bench.start(project);
    await expect.poll(() => target.hits("/item-cancelled")).toBeGreaterThan(2);
    expect((await bench.api.post(`/v2/runs/${run_id}/cancel`, {})).status).toBe(202);
    const run = await bench.until(run_id, "CANCELLED");
    expect([run.state, nodesOf(run)["map-0"]?.state]).toEqual(["CANCELLED", "CANCELLED"]);
    const hits = target.hits("/item-cancelled");
    expect(hits).toBeLessThan(700);
    await bench.run(flow([{ id: "delay-0", type: "delay", config: { seconds: 2 } }, out], ["delay-0>out-0"]));
    expect(target.hits("/item-cancelled")).toBe(hits);
  });

  it("in slices returns the same result inside another map", async () => {
    const innermost = nested(
      [
        { id: "delay-0", type: "delay", config: { seconds: 0 } },
        { id: "s", type: "set", config: { values: { n: "item" } } },
        { id: "o", type: "output", config: { value: "{{s.n}}" } },
      ],
      ["delay-0>s", "s>o"],
    );
    const within = { id: "map-1", type: "map", config: { items: "item", flow: innermost, max_concurrency: 100 } };
    const inner = nested([within, { id: "o", type: "output" }], ["map-1>o"]);
    const lists = [[...Array(270).keys()], [1, 2]];
    const source = `function main() { return ${JSON.stringify(lists)}; }`;
    const run = await bench.run(
      flow(
        [
          { id: "code-0", type: "code", config: { source } },
          { id: "map-0", type: "map", config: { items: "nodes['code-0']", flow: inner } },
          out,
        ],
        ["code-0>map-0", "map-0>out-0"],
      ),
    );
    expect(run.state, JSON.stringify(run.error)).toBe("COMPLETED");
    expect(run.outputs["out-0"]).toEqual(lists.map((list) => list.map(String)));
  });

  it("refuses a value that is not a list, and more iterations than a run may have", async () => {
    const inner = nested([{ id: "o", type: "output", config: { value: "x" } }], []);
    for (const [items, yielded] of [
      ['"text"', "a string"],
      ['{"a": 1}', "an object"],
      ["null", "null"],
    ] as const)
      expect(await bench.run(mapOf(items, inner))).toMatchObject({
        state: "FAILED",
        error: { code: "items_not_a_list", node_id: "map-0", message: expect.stringContaining(`returns ${yielded}.`) },
      });
    const many = await bench.run(mapOf('json(nodes["in-0"])', inner), {
      "in-0": JSON.stringify(Array.from({ length: 10_001 }, () => 0)),
    });
    expect(many).toMatchObject({ state: "FAILED", error: { code: "iteration_limit_reached", node_id: "map-0" } });
  });
});

describe("a loop", () => {
  const loopOf = (config: Record<string, unknown>) =>
    flow([{ id: "loop-0", type: "loop", config }, out], ["loop-0>out-0"]);
  const double = nested(
    [
      { id: "set-0", type: "set", config: { values: { n: "last.n * 2", rounds: "index + 1" } } },
      { id: "o", type: "output" },
    ],
    ["set-0>o"],
  );

  it("continues while its condition holds and returns the last iteration's value", async () => {
    const run = await bench.run(loopOf({ while: "last.n < 100", initial: '{"n": 1}', flow: double }));
    expect(run.outputs).toEqual({ "out-0": { n: 128, rounds: 7 } });
    expect(nodesOf(run)["loop-0[6]/set-0"]?.state).toBe("COMPLETED");
  });

  it("fails if its condition still holds after max_iterations, unless on_exhausted is continue", async () => {
    const loop = { while: "last.n < 9", initial: '{"n": 1}', max_iterations: 3, flow: double };
    expect(await bench.run(loopOf(loop))).toMatchObject({
      state: "FAILED",
      error: { code: "iterations_exhausted", node_id: "loop-0", path: "loop-0" },
    });
    const all = { "out-0": { n: 8, rounds: 3 } };
    expect((await bench.run(loopOf({ ...loop, on_exhausted: "continue" }))).outputs).toEqual(all);
    // The last allowed iteration meets the condition, so nothing is exhausted.
    expect((await bench.run(loopOf({ ...loop, while: "last.n < 8" }))).outputs).toEqual(all);
  });

  it("returns its initial value if it never iterates", async () => {
    expect((await bench.run(loopOf({ while: "false", initial: '{"n": 1}', flow: double }))).outputs).toEqual({
      "out-0": { n: 1 },
    });
  });

  it("continues in slices if it is long and its nodes take time", async () => {
    const inner = nested(
      [
        { id: "delay-0", type: "delay", config: { seconds: 0 } },
        { id: "set-0", type: "set", config: { values: { n: "last.n + 1" } } },
        { id: "o", type: "output" },
      ],
      ["delay-0>set-0", "set-0>o"],
    );
    const run = await bench.run(
      loopOf({ while: "last.n < 270", initial: '{"n": 0}', max_iterations: 400, flow: inner }),
    );
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": { n: 270 } } });
  });

  it("reports the iteration that failed in a later slice, and the flow continues by on_error", async () => {
    const inner = nested(
      [
        { id: "delay-0", type: "delay", config: { seconds: 0 } },
        { id: "guard-0", type: "guard", config: { check: "last.n < 260", message: "too far" } },
        { id: "set-0", type: "set", config: { values: { n: "last.n + 1" } } },
        { id: "o", type: "output" },
      ],
      ["delay-0>guard-0", "guard-0>set-0", "set-0>o"],
    );
    const config = { while: "true", initial: '{"n": 0}', max_iterations: 400, flow: inner };
    const loop = { id: "loop-0", type: "loop", config };
    const failed = await bench.run(loopOf(config));
    expect(failed).toMatchObject({
      state: "FAILED",
      error: { code: "guard_failed", node_id: "guard-0", path: "loop-0[260]/guard-0" },
    });
    const branching = flow(
      [
        { ...loop, on_error: "branch" },
        { ...out, config: { value: "{{loop-0.error.code}}" } },
      ],
      ["loop-0:error>out-0"],
    );
    expect((await bench.run(branching)).outputs).toEqual({ "out-0": "guard_failed" });
  });
});

describe("an expression inside nested maps and loops", () => {
  const shows = (...names: string[]) => [
    { id: "s", type: "set", config: { values: Object.fromEntries(names.map((name) => [name, name])) } },
    { id: "o", type: "output" },
  ];

  it("sees the item of the map around a loop", async () => {
    const loop = {
      id: "loop-0",
      type: "loop",
      config: { while: "index < 2 && item > 0", flow: nested(shows("item", "index"), ["s>o"]) },
    };
    const inner = nested([loop, { id: "o", type: "output" }], ["loop-0>o"]);
    const run = await bench.run(
      flow([{ id: "map-0", type: "map", config: { items: "[7, 8]", flow: inner } }, out], ["map-0>out-0"]),
    );
    expect(run.outputs).toEqual({
      "out-0": [
        { item: 7, index: 1 },
        { item: 8, index: 1 },
      ],
    });
  });

  it("sees the last value of the loop around a map", async () => {
    const map = { id: "map-0", type: "map", config: { items: "[1, 2]", flow: nested(shows("item", "last"), ["s>o"]) } };
    const inner = nested([map, { id: "o", type: "output" }], ["map-0>o"]);
    const run = await bench.run(
      flow(
        [{ id: "loop-0", type: "loop", config: { initial: "'first'", while: "index < 1", flow: inner } }, out],
        ["loop-0>out-0"],
      ),
    );
    expect(run.outputs).toEqual({
      "out-0": [
        { item: 1, last: "first" },
        { item: 2, last: "first" },
      ],
    });
  });
});

describe("the timeout_ms of a node", () => {
  const slow = { id: "delay-0", type: "delay", config: { seconds: 60 } };
  const inner = nested([slow, { id: "o", type: "output" }], ["delay-0>o"]);

  it.each([
    ["delay", { seconds: 60 }],
    ["map", { items: "[1, 2]", flow: inner }],
    ["loop", { while: "true", flow: inner }],
  ])("ends a %s node", async (type, config) => {
    const run = await bench.run(flow([{ id: "x", type, config, timeout_ms: 200 }, out], ["x>out-0"]));
    expect(run).toMatchObject({ state: "FAILED", error: { code: "node_timeout", node_id: "x", attempt: 1 } });
  });

  it("ends a subflow and its child run, and the flow continues by on_error", async () => {
    const project_id = await bench.deploy(flow([slow, out], ["delay-0>out-0"]));
    const sub = { id: "sub-0", type: "subflow", config: { project_id, inputs: {} } };
    const run = await bench.run(
      flow([{ ...sub, timeout_ms: 300, on_error: "continue", default_output: "late" }, out], ["sub-0>out-0"]),
    );
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": "late" } });
    const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run.run_id } });
    expect(body.data).toMatchObject([{ state: "CANCELLED" }]);
  });

  it("does not affect a node that finishes in time", async () => {
    const run = await bench.run(
      flow([{ id: "delay-0", type: "delay", config: { seconds: 0.1 }, timeout_ms: 60_000 }, out], ["delay-0>out-0"]),
    );
    expect(run.state).toBe("COMPLETED");
  });
});

describe("a subflow", () => {
  const child = flow(
    [{ id: "in-0", type: "input" }, { id: "tpl-0", type: "template", config: { template: "hello {{in-0}}" } }, out],
    ["in-0>tpl-0", "tpl-0>out-0"],
  );
  const call = (project_id: string, inputs: Record<string, string>) =>
    flow(
      [
        { id: "in-0", type: "input", config: { required: false } },
        { id: "sub-0", type: "subflow", config: { project_id, inputs } },
        out,
      ],
      ["in-0>sub-0", "sub-0>out-0"],
    );

  it("runs another flow as a child run and returns its outputs", async () => {
    const projectId = await bench.deploy(child);
    const run = await bench.run(call(projectId, { "in-0": 'nodes["in-0"] + "!"' }), { "in-0": "you" });
    expect(run).toMatchObject({ state: "COMPLETED", outputs: { "out-0": { "out-0": "hello you!" } } });
    const { body } = await bench.api.get("/v2/runs", { query: { parent_run_id: run.run_id } });
    expect(body.data).toMatchObject([
      { project_id: projectId, run_type: "sub_workflow", state: "COMPLETED", parent_run_id: run.run_id },
    ]);
  });

  it("fails with the error of the flow that it called", async () => {
    const projectId = await bench.deploy(
      flow(
        [{ id: "guard-0", type: "guard", config: { check: "false", message: "inner reason" } }, out],
        ["guard-0>out-0"],
      ),
    );
    const run = await bench.run(call(projectId, {}));
    expect(run).toMatchObject({ state: "FAILED", error: { code: "subflow_failed", node_id: "sub-0" } });
    const { body: runs } = await bench.api.get("/v2/runs", { query: { parent_run_id: run.run_id } });
    const message = `The child run ${runs.data[0].run_id} failed at guard-0: inner reason`;
    expect(run.error?.message).toBe(message);
    // With one more level, the message still names the failed run and node only once.
    const outer = await bench.run(call(await bench.deploy(call(projectId, {})), { "in-0": '""' }));
    expect(outer.error?.message).toMatch(/^The child run [-\w]+ failed at guard-0: inner reason$/);
  });

  it("reports inputs that the called flow does not accept", async () => {
    const run = await bench.run(call(await bench.deploy(child), {}));
    expect(run).toMatchObject({ state: "FAILED", error: { code: "subflow_inputs_invalid" } });
    expect(run.error?.message).toContain("in-0");
  });

  it("ends with a clear error if the flow calls itself", async () => {
    const projectId = await bench.deploy(child);
    const recursive = call(projectId, { "in-0": '"x"' });
    const { status } = await bench.api.post(`/v2/projects/${projectId}/versions`, { flow: recursive, publish: true });
    expect(status).toBe(201);
    const { run_id } = await bench.start(projectId, { "in-0": "x" });
    const run = await bench.until(run_id);
    expect(run).toMatchObject({ state: "FAILED", error: { code: "subflow_failed" } });
    expect(run.error?.message).toMatch(/nested at most 10 levels deep/);
  });
});
