import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { canonicalJson, contentHash } from "../../../../src/domain/flow/definition/content-hash.ts";
import { isNodeId } from "../../../../src/domain/flow/definition/definition.ts";
import { flowJsonSchema } from "../../../../src/domain/flow/definition/flow-schema.ts";
import { NODE_SPECS } from "../../../../src/domain/flow/nodes/index.ts";
import { NODE_KINDS } from "../../../../src/domain/flow/kinds.ts";
import { edges, flow, node } from "../../../support/flows.ts";

describe("the content hash", () => {
  const of = contentHash;

  it("is 64 hexadecimal digits and does not depend on the order of fields", () => {
    expect(of(flow())).toMatch(/^[0-9a-f]{64}$/);
    const { nodes, ...rest } = flow();
    expect(of({ nodes, ...rest })).toBe(of({ ...rest, nodes }));
  });

  it("ignores what is only for people: ui, and the notes of nodes at any depth", () => {
    const inner = (notes: object) => ({ nodes: [{ ...node("out-0", "output", { value: "x" }), ...notes }], edges: [] });
    const make = (notes: object, ui: object) =>
      flow({
        nodes: [node("map-0", "map", { items: "[]", flow: inner(notes) }, notes), node("out-0", "output")],
        edges: edges("map-0 > out-0"),
        ...ui,
      });
    expect(of(make({ notes: "a" }, { ui: { positions: {} } }))).toBe(of(make({}, {})));
  });

  it("depends on the order of fields only in a schema or a form", () => {
    const first = { type: "object", properties: { b: {}, a: {} } };
    const other = { type: "object", properties: { a: {}, b: {} } };
    const config = (given: Record<string, unknown>) =>
      flow({ nodes: [node("llm-0", "llm", given), node("out-0", "output")] });
    for (const name of ["schema", "form"])
      expect(of(config({ prompt: "", [name]: first }))).not.toBe(of(config({ prompt: "", [name]: other })));
    expect(of(config({ prompt: "", body: first }))).toBe(of(config({ body: other, prompt: "" })));
  });

  it("changes with everything else, even a field named notes elsewhere", () => {
    const set = (values: object) => flow({ nodes: [node("set-0", "set", { values }), node("out-0", "output")] });
    expect(of(set({ notes: "1" }))).not.toBe(of(set({ notes: "2" })));
    expect(of(flow({ name: "other" }))).not.toBe(of(flow()));
    expect(of(flow({ settings: { timeout_seconds: 5 } }))).not.toBe(of(flow({ settings: { timeout_seconds: 6 } })));
    expect(of(flow({ settings: { redact: ["$..a"] } }))).not.toBe(of(flow()));
    const examples = (value: string) => flow({ examples: [{ name: "one", inputs: { "in-0": value } }] });
    expect(of(examples("a"))).not.toBe(of(examples("b")));
    expect(of(examples("a"))).not.toBe(of(flow()));
    expect(of(flow({ nodes: flow().nodes.toReversed() }))).not.toBe(of(flow()));
  });
});

describe("canonical JSON", () => {
  it("sorts keys at every depth and keeps lists as they are", () => {
    expect(canonicalJson({ b: [3, { d: null, c: "ü" }], a: undefined, A: 1e21 })).toBe(
      '{"A":1e+21,"b":[3,{"c":"ü","d":null}]}',
    );
  });

  it("keeps a key that objects also inherit", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":1,"a":2}'))).toBe('{"__proto__":1,"a":2}');
  });
});

describe("ids", () => {
  it("are 1 to 64 of A-Z, a-z, 0-9, _ and -, and not the name of a field that objects inherit", () => {
    expect(["in-0", "A_b-9", "x".repeat(64), "toString"].every(isNodeId)).toBe(true);
    expect(["", "x".repeat(65), "a b", "a\n", "__proto__", "constructor", "prototype", 3, null].some(isNodeId)).toBe(
      false,
    );
  });
});

describe("every node type", () => {
  it.each(NODE_KINDS)(
    "%s has a description for itself and for every non-obvious field of its configuration",
    (kind) => {
      const spec = NODE_SPECS[kind];
      expect(spec.description).not.toBe("");
      expect(spec.retry.max_attempts).toBeGreaterThan(0);
    },
  );
});

describe("the published flow schema", () => {
  const proto = JSON.parse('{ "__proto__": "x" }') as object;
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(flowJsonSchema());

  it("accepts valid flows, nested ones too", () => {
    const inner = { nodes: [node("out-0", "output", { value: "x" })], edges: [] };
    const nodes = [...flow().nodes, node("map-0", "map", { items: "[]", flow: inner }), { id: "doc-0", type: "files" }];
    expect(validate({ ...flow(), nodes }) || validate.errors).toBe(true);
  });

  it.each([
    ["an unknown member", { ...flow(), extra: 1 }],
    ["an unknown kind", { ...flow(), nodes: [{ id: "a", type: "oracle" }] }],
    ["an unknown configuration", { ...flow(), nodes: [node("a", "input", { colour: 1 })] }],
    ["a missing configuration", { ...flow(), nodes: [{ id: "a", type: "template" }] }],
    ["a map without a flow", { ...flow(), nodes: [node("a", "map", { items: "[]" })] }],
    [
      "a fault in a nested flow",
      { ...flow(), nodes: [node("a", "map", { items: "[]", flow: { nodes: [{ id: "b" }], edges: [] } })] },
    ],
    ["a bad id", { ...flow(), nodes: [node("a b", "input")] }],
    ["a forbidden name deep in a value", { ...flow(), ui: { list: [{ inner: proto }] } }],
    [
      "a forbidden name in a nested flow",
      {
        ...flow(),
        nodes: [node("a", "map", { items: "[]", flow: { nodes: [node("b", "set", { values: proto })], edges: [] } })],
      },
    ],
  ])("refuses %s", (_, input) => {
    expect(validate(input)).toBe(false);
  });

  it("describes every node type", () => {
    const defs = flowJsonSchema()["$defs"] as Record<string, unknown>;
    for (const kind of NODE_KINDS) expect(defs).toHaveProperty(`node_${kind}`);
  });
});
