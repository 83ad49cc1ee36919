import { describe, expect, it } from "vitest";
import { DEFAULT_FLOW_LIMITS } from "../../../../src/domain/flow/definition/limits.ts";
import { checkFlow, type FlowValidation } from "../../../../src/domain/flow/validate/validate.ts";
import { edges, flow, node } from "../../../support/flows.ts";

/** Validates within `ms`, a generous limit: a quadratic step would take minutes at these sizes. */
function within(ms: number, input: unknown, limits = DEFAULT_FLOW_LIMITS): FlowValidation & { codes: string[] } {
  const start = performance.now();
  const result = checkFlow(input, limits);
  expect(performance.now() - start).toBeLessThan(ms);
  return { ...result, codes: result.problems.map(({ code }) => code) };
}

const many = <Item>(count: number, make: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => make(index));
const roomy = { ...DEFAULT_FLOW_LIMITS, max_nodes: 10_000 };

describe("wide-flow", () => {
  it("refuses 100 000 nodes without checking each of them", () => {
    const nodes = many(100_000, (index) => node(`n-${index}`, "set", { values: { a: "1 + 1" } }));
    expect(within(15_000, flow({ nodes })).codes).toEqual(["too_many_nodes"]);
  });

  it("counts nodes inside maps", () => {
    const inner = { nodes: many(600, (index) => node(`n-${index}`, "set", { values: {} })), edges: [] };
    const nodes = [node("a", "map", { items: "[]", flow: inner }), node("b", "map", { items: "[]", flow: inner })];
    expect(within(15_000, flow({ nodes, edges: [] })).codes).toEqual(["too_many_nodes"]);
  });

  it("checks a chain of 10 000 nodes", () => {
    const nodes = many(9_998, (index) =>
      node(`n-${index}`, "set", { values: { a: index === 0 ? 'nodes["in-0"]' : `nodes["n-${index - 1}"].a` } }),
    );
    const chain = many(9_997, (index) => ({ source: `n-${index}`, target: `n-${index + 1}` }));
    const input = flow({
      nodes: [...flow().nodes, ...nodes],
      edges: [...chain, ...edges("in-0 > n-0", "n-9997 > out-0")],
    });
    expect(within(15_000, input, { ...roomy, max_plan_bytes: 10 ** 8 })).toMatchObject({ valid: true, codes: [] });
  });

  it("checks a graph of many edges", () => {
    const layers = many(20, (layer) => many(50, (index) => node(`n-${layer}-${index}`, "set", { values: {} })));
    const all = layers
      .slice(1)
      .flatMap((layer, index) =>
        layer.flatMap(({ id }) => (layers[index] ?? []).map((from) => ({ source: from.id, target: id }))),
      );
    const result = within(
      15_000,
      flow({ nodes: [...flow().nodes, ...layers.flat()], edges: [...all, ...edges("in-0 > out-0")] }),
      roomy,
    );
    expect(new Set(result.codes)).toEqual(new Set(["unused_node", "too_many_problems"]));
  });
});

describe("huge-list", () => {
  it("refuses more than half a million values", () => {
    expect(
      within(
        15_000,
        flow({
          nodes: [node("x", "set", { values: Object.fromEntries(many(510_000, (index) => [`k${index}`, "1"])) })],
        }),
      ).codes,
    ).toContain("too_large");
  });

  it("lists at most a thousand problems", () => {
    const result = within(15_000, flow({ edges: many(5000, () => ({ source: "a", target: "b" })) }));
    expect(result.problems).toHaveLength(1001);
    expect(result.problems.at(-1)).toMatchObject({
      code: "too_many_problems",
      message: "9002 more problems are not listed",
    });
  });
});

describe("a flow that is too long to be stored", () => {
  it("is refused before its templates and expressions are checked", () => {
    const broken = "{{".padEnd(8_000);
    const nodes = many(300, (index) => node(`tpl-${index}`, "template", { template: broken }));
    expect(within(15_000, flow({ nodes })).codes).toEqual(["plan_too_large"]);
    const inside = node("map-0", "map", { items: "[]", flow: { nodes, edges: [] } });
    expect(within(15_000, flow({ nodes: [inside] })).codes).toEqual(["plan_too_large"]);
  });
});

describe("a flow with much layout data", () => {
  it("is refused if an editor could not load it quickly, and else keeps everything in it", () => {
    const note = (chars: number) => ({ id: "note-0", text: "n".repeat(chars), x: 0, y: 0, width: 1, height: 1 });
    const ui = (chars: number) => ({ positions: { "in-0": { x: 1, y: 2 } }, notes: [note(chars)], locked: ["in-0"] });
    expect(within(15_000, { ...flow(), ui: ui(2_000_000) }).codes).toEqual(["too_large"]);
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`n-${at}`, { x: at, y: at }]));
    expect(within(15_000, { ...flow(), ui: { positions: many } }).codes).toEqual(["too_large"]);
    expect(checkFlow({ ...flow(), ui: ui(10_000) }, DEFAULT_FLOW_LIMITS)).toMatchObject({
      valid: true,
      definition: { ui: ui(10_000) },
    });
  });
});

describe("deep-json", () => {
  const deep = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as unknown;

  it("refuses nesting that would exhaust a stack", () => {
    expect(within(15_000, deep(100_000)).codes).toEqual(["too_deep"]);
    expect(within(15_000, { ...flow(), ui: deep(100_000) }).codes).toEqual(["too_deep"]);
    expect(
      within(15_000, flow({ nodes: [node("h", "http", { url: "https://a.example", body: deep(100_000) })] })).codes,
    ).toEqual(["too_deep"]);
  });

  it("refuses deeply nested maps", () => {
    let inner: object = { nodes: [], edges: [] };
    for (let depth = 0; depth < 15; depth += 1)
      inner = { nodes: [node("m", "map", { items: "[]", flow: inner })], edges: [] };
    expect(within(15_000, flow({ nodes: (inner as ReturnType<typeof flow>).nodes })).codes).toContain(
      "nesting_too_deep",
    );
  });

  it("refuses objects that contain themselves", () => {
    const round: Record<string, unknown> = { ...flow() };
    round["ui"] = round;
    expect(within(15_000, round).codes).toEqual(["too_deep"]);
  });
});

describe("proto-pollution", () => {
  it.each([
    '{"__proto__": {"valid": true}}',
    '{"schema_version":1,"name":"x","nodes":[{"id":"a","type":"set","config":{"values":{"__proto__":"1"}}}],"edges":[]}',
    '{"schema_version":1,"name":"x","nodes":[{"id":"a","type":"input","__proto__":{"id":"b"}}],"edges":[]}',
    '{"schema_version":1,"name":"x","nodes":[],"edges":[],"settings":{"__proto__":{"timeout_seconds":1}}}',
  ])("refuses the key __proto__ in %s", (text) => {
    expect(within(15_000, JSON.parse(text)).codes).toContain("forbidden_key");
    expect(({} as Record<string, unknown>)["valid"]).toBeUndefined();
  });

  it("finds no node under a name that every object inherits", () => {
    const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
    const input = flow({
      nodes: [
        ...flow().nodes,
        node("set-0", "set", { values: Object.fromEntries(names.slice(1).map((name) => [name, `nodes["${name}"]`])) }),
      ],
      edges: [...flow().edges, ...names.map((target) => ({ source: "in-0", target }))],
    });
    const { codes } = within(15_000, input);
    expect(codes.filter((code) => code === "unknown_node")).toHaveLength(names.length);
    expect(codes.filter((code) => code === "reads_unknown_node")).toHaveLength(names.length - 1);
    expect(within(15_000, flow({ nodes: [node("x", "constructor"), node("y", "toString")] })).codes).toContain(
      "unknown_kind",
    );
  });
});

describe("hostile text", () => {
  it.each(["(", "[", "!", "-", "{{", "{% if a %}", "nodes[", "a.", "1+", "'", "\\", "a?b:", "x.map(x,"])(
    "does not crash or slow down validation, however often %j is repeated",
    (part) => {
      const source = part.repeat(Math.floor(9_999 / part.length));
      const nodes = [
        node("in-0", "input"),
        node("a", "set", { values: { a: source } }),
        node("b", "template", { template: source }),
        node("out-0", "output"),
      ];
      within(15_000, flow({ nodes, edges: edges("in-0 > a > b > out-0") }));
    },
  );

  it("reads redaction paths in linear time", () => {
    for (const part of ["..*", "[*]", '["', "..", ".a", '\\"', "['"]) {
      within(15_000, flow({ settings: { redact: many(100, () => `$${part.repeat(160)}`) } }));
    }
  });
});

describe("a value that is not JSON", () => {
  it.each([
    ["a function", () => 1],
    ["a bigint", 1n],
    ["NaN", Number.NaN],
    ["a date", new Date()],
    ["a symbol", Symbol("x")],
    ["a map", new Map()],
  ])("refuses %s", (_, value) => {
    expect(within(15_000, { ...flow(), ui: { value } }).codes).toEqual(["not_json"]);
  });
});
