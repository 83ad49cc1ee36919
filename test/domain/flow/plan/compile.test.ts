import { describe, expect, it } from "vitest";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import type { PlanNode } from "../../../../src/domain/flow/plan/types.ts";
import { edges, flow, node } from "../../../support/flows.ts";

/** The compiled node `n` of in-0 > n > out-0. */
function compiled(kind: string, config: Record<string, unknown>, more = {}): PlanNode | undefined {
  const nodes = [node("in-0", "input"), node("n", kind, config, more), node("out-0", "output", { value: "x" })];
  return compileFlow(flow({ nodes, edges: edges("in-0 > n") })).nodes.find(({ id }) => id === "n");
}

describe("a compiled node", () => {
  it("has the defaults of its configuration", () => {
    expect(compiled("input", {})?.config).toEqual({ required: true });
    expect(compiled("files", {})?.config).toEqual({ required: false });
    expect(compiled("http", { url: "https://a.example" })?.config).toEqual({
      method: "GET",
      url: "https://a.example",
      headers: {},
      query: {},
      expect_status: "2xx",
    });
    expect(compiled("approval", { message: "?" })?.config).toEqual({
      message: "?",
      actions: [{ id: "approve" }, { id: "reject" }],
      required_approvals: 1,
      on_timeout: "fail",
    });
    expect(compiled("subflow", { project_id: "p" })?.config).toEqual({ project_id: "p", version: -1, inputs: {} });
  });

  it("noisy-neighbour: has a 30 s time limit for an HTTP request unless the flow sets one", () => {
    expect(compiled("http", { url: "https://a.example" })?.timeout_ms).toBe(30_000);
    expect(compiled("http", { url: "https://a.example" }, { timeout_ms: 90_000 })?.timeout_ms).toBe(90_000);
  });

  it.each([
    ["input", {}, "inline"],
    ["string", {}, "inline"],
    ["set", { values: {} }, "inline"],
    ["condition", { cases: [{ id: "a", when: "true" }] }, "inline"],
    ["guard", { check: "true", message: "no" }, "inline"],
    ["output", {}, "inline"],
    ["template", { template: "Hello {{in-0}}" }, "inline"],
    ["template", { template: "{% for word in in-0 %}{{ word }}{% endfor %}" }, "local"],
    ["output", { value: "{% for word in in-0 %}{{ word }}{% endfor %}" }, "local"],
    ["files", {}, "local"],
    ["http", { url: "https://a.example" }, "activity"],
    ["code", { source: "function main() {}" }, "activity"],
    ["url", {}, "activity"],
    ["delay", { seconds: 1 }, "workflow"],
    ["approval", { message: "?" }, "workflow"],
    ["subflow", { project_id: "p" }, "workflow"],
  ])("of type %s with %j is executed %s", (kind, config, execution) => {
    expect(compiled(kind, config)?.execution).toBe(execution);
  });

  it("has the retries and the timeout of its type", () => {
    const three = { max_attempts: 3, initial_interval_ms: 1000, backoff: 2, max_interval_ms: 30_000 };
    expect(compiled("http", { url: "https://a.example" })).toMatchObject({ retry: three, timeout_ms: 30_000 });
    expect(compiled("url", {})).toMatchObject({ retry: three, timeout_ms: 60_000 });
    expect(compiled("code", { source: "function main() {}" })).toMatchObject({
      retry: { max_attempts: 1 },
      timeout_ms: 10_000,
    });
    expect(compiled("set", { values: {} })).not.toHaveProperty("timeout_ms");
  });

  it("overrides its type's retries and timeout field by field", () => {
    const retry = { max_attempts: 7, initial_interval_ms: 5 };
    expect(compiled("http", { url: "https://a.example" }, { retry, timeout_ms: 9 })).toMatchObject({
      retry: { max_attempts: 7, initial_interval_ms: 5, backoff: 2, max_interval_ms: 30_000 },
      timeout_ms: 9,
    });
  });

  it("fails the run by default and carries its own error settings", () => {
    expect(compiled("set", { values: {} })?.on_error).toBe("fail");
    const more = {
      name: "N",
      on_error: "continue",
      default_output: { a: null },
      skip_if: "false",
      notes: "for people",
    };
    expect(compiled("set", { values: {} }, more)).toMatchObject({
      name: "N",
      on_error: "continue",
      default_output: { a: null },
      skip_if: "false",
    });
    expect(compiled("set", { values: {} }, more)).not.toHaveProperty("notes");
  });

  it("keeps a default output of null", () => {
    expect(compiled("set", { values: {} }, { on_error: "continue", default_output: null })).toHaveProperty(
      "default_output",
      null,
    );
  });
});

describe("the reads of a node", () => {
  it("are the nodes named in expressions, templates and skip_if, each once", () => {
    const values = { a: 'nodes["in-0"] + nodes["in-0"]', b: "nodes.x" };
    const nodes = [
      node("in-0", "input"),
      node("x", "input"),
      node("n", "set", { values }, { skip_if: 'nodes["y"] == ""' }),
      node("y", "input"),
      node("out-0", "output"),
    ];
    const plan = compileFlow(flow({ nodes, edges: edges("in-0 > n > out-0", "x > n", "y > n") }));
    expect(plan.nodes.find(({ id }) => id === "n")?.reads).toEqual(["in-0", "x", "y"]);
  });

  it("of an output without a value are its sources", () => {
    expect(compileFlow(flow()).nodes.map(({ id, reads }) => [id, reads])).toEqual([
      ["in-0", []],
      ["out-0", ["in-0"]],
    ]);
  });

  it("are all nodes if an expression chooses the node at run time", () => {
    expect(compiled("set", { values: { a: "nodes[inputs.which]" } })?.reads).toBe("*");
  });

  it("of a map include what its nested flow reads from outside, unless shadowed", () => {
    const inner = {
      nodes: [
        node("own", "set", { values: { a: 'nodes["in-0"]' } }),
        node("out-0", "output", { value: '{{ nodes["own"].a }}' }),
      ],
      edges: edges("own > out-0"),
    };
    const map = compiled("map", { items: "[1]", flow: inner });
    expect(map?.reads).toEqual(["in-0"]);
    expect(map?.nested?.nodes.map(({ id, reads }) => [id, reads])).toEqual([
      ["own", ["in-0"]],
      ["out-0", ["own"]],
    ]);
    expect(map?.config).toEqual({ items: "[1]", max_concurrency: 10, on_item_error: "fail" });
  });
});

describe("a plan", () => {
  it("lists nodes so that every edge leads forward, and keeps the edges' order", () => {
    const nodes = [
      node("out-0", "output"),
      node("b", "set", { values: {} }),
      node("a", "set", { values: {} }),
      node("in-0", "input"),
    ];
    const plan = compileFlow(flow({ nodes, edges: edges("b > out-0", "a > b", "in-0 > a") }));
    expect(plan.nodes.map(({ id }) => id)).toEqual(["in-0", "a", "b", "out-0"]);
    expect(plan.edges.map(({ source, source_handle }) => [source, source_handle])).toEqual([
      ["b", "out"],
      ["a", "out"],
      ["in-0", "out"],
    ]);
  });

  it("has the flow's settings and nothing that is only for people", () => {
    const plan = compileFlow(
      flow({ settings: { timeout_seconds: 5, redact: ["$..token"] }, ui: { positions: {} }, examples: [] }),
    );
    expect(plan.settings).toEqual({ timeout_seconds: 5, redact: ["$..token"] });
    expect(Object.keys(plan)).toEqual(["nodes", "edges", "settings", "rules"]);
  });

  it("is not compiled from an invalid flow", () => {
    expect(() => compileFlow(flow({ edges: edges("in-0 > nowhere") }))).toThrow("nowhere");
    expect(() => compileFlow(flow({ edges: edges("in-0 > out-0 > in-0") }))).toThrow("cycle");
    expect(() => compiled("set", { values: { a: "1 +" } })).toThrow("does not parse");
  });
});
