import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_FLOW_LIMITS } from "../../src/domain/flow/definition/limits.ts";
import { checkFlow } from "../../src/domain/flow/validate/validate.ts";
import { graphAt, nodesOf } from "../../web/flow/access.ts";
import type { FlowDocument } from "../../web/flow/document.ts";
import { apply } from "../../web/flow/history.ts";
import { renameInCel, renameInLiquid } from "../../web/flow/references.ts";
import { whyNotRename } from "../../web/flow/rename.ts";
import { documents, frozen, KINDS, scopesOf } from "../support/flow-commands.ts";
import { validFlows } from "../support/arbitrary-flow.ts";

const ids = (to: string) => ({ nodes: new Map([["in-0", to]]), inputs: new Map([["in-0", to]]) });

describe("IDs in expressions", () => {
  it.each([
    ['nodes["in-0"]', 'nodes["q-1"]'],
    ["nodes['in-0'].body", "nodes['q-1'].body"],
    ['nodes [ "in-0" ]', 'nodes [ "q-1" ]'],
    ['nodes[r"in-0"] + inputs["in-0"]', 'nodes["q-1"] + inputs["q-1"]'],
    ["nodes.`in-0`.x", "nodes.`q-1`.x"],
    ['nodes["in-01"] + nodes["xin-0"]', 'nodes["in-01"] + nodes["xin-0"]'],
    ['"nodes[\\"in-0\\"]" + "in-0"', '"nodes[\\"in-0\\"]" + "in-0"'],
    ['item.nodes["in-0"] + my_nodes["in-0"]', 'item.nodes["in-0"] + my_nodes["in-0"]'],
    ['nodes["a"]["in-0"] // nodes["in-0"]', 'nodes["a"]["in-0"] // nodes["in-0"]'],
    ['"""a " nodes["in-0"]""" + nodes["in-0"]', '"""a " nodes["in-0"]""" + nodes["q-1"]'],
    ['nodes["in-0', 'nodes["in-0'],
    ['nodes["in-0"+"x"]', 'nodes["in-0"+"x"]'],
  ])("are changed in CEL: %s", (before, after) => {
    expect(renameInCel(before, ids("q-1"))).toBe(after);
  });

  it("are written in CEL as the new ID needs it", () => {
    const renames = (to: string) => ({ nodes: new Map([["a", to]]), inputs: new Map<string, string>() });
    expect(renameInCel("nodes.a.b + inputs.a", renames("c"))).toBe("nodes.c.b + inputs.a");
    expect(renameInCel("nodes.a.b", renames("c-0"))).toBe('nodes["c-0"].b');
    expect(renameInCel("nodes.a.b", renames("in"))).toBe('nodes["in"].b');
  });

  it.each([
    ["{{in-0}} in-0 { in-0 }", "{{q-1}} in-0 { in-0 }"],
    ["{{- in-0 -}}{{in-0-}}", "{{- q-1 -}}{{q-1-}}"],
    ['{{ nodes["in-0"].a | default: in-0, x: in-0 }}', '{{ nodes["q-1"].a | default: q-1, x: q-1 }}'],
    ["{{ nodes['in-0'] }}{{ nodes.in-0.a }}{{ inputs.in-0 }}", "{{ nodes['q-1'] }}{{ nodes.q-1.a }}{{ inputs.q-1 }}"],
    ['{{ ["in-0"].a }}', '{{ ["q-1"].a }}'],
    ["{{ other.in-0 }}{{ other['in-0'] }}{{ a[in-0] }}", "{{ other.in-0 }}{{ other['in-0'] }}{{ a[q-1] }}"],
    ["{{ 'in-0' | append: \"in-0 }} in-0\" }}", "{{ 'in-0' | append: \"in-0 }} in-0\" }}"],
    ["{% if in-0 contains 'in-0' and in-0.size > 1 %}", "{% if q-1 contains 'in-0' and q-1.size > 1 %}"],
    ["{% for x in in-0 limit:in-0 %}{{x}}{% endfor %}", "{% for x in q-1 limit:q-1 %}{{x}}{% endfor %}"],
    ["{% for i in (1..in-0) %}{% endfor %}", "{% for i in (1..q-1) %}{% endfor %}"],
    ["{{in-0}}{% assign in-0 = in-0 %}{{in-0}}", "{{q-1}}{% assign in-0 = q-1 %}{{in-0}}"],
    ["{% for in-0 in b %}{{in-0}}{% endfor %}{{in-0}}", "{% for in-0 in b %}{{in-0}}{% endfor %}{{q-1}}"],
    ["{% capture in-0 %}{% endcapture %}{{in-0}}", "{% capture in-0 %}{% endcapture %}{{in-0}}"],
    ["{% raw %}{{in-0}}{% endraw %}{{in-0}}", "{% raw %}{{in-0}}{% endraw %}{{q-1}}"],
    ["{%- comment -%}{{in-0}}{%- endcomment -%}{{in-0}}", "{%- comment -%}{{in-0}}{%- endcomment -%}{{q-1}}"],
    ["{% # in-0 %}{{in-0}}", "{% # in-0 %}{{q-1}}"],
    ["{% liquid\n echo in-0\n assign in-0 = 1\n echo in-0 %}", "{% liquid\n echo q-1\n assign in-0 = 1\n echo in-0 %}"],
    ["{% case in-0 %}{% when in-0, 'a' %}{% endcase %}", "{% case q-1 %}{% when q-1, 'a' %}{% endcase %}"],
    ["{{ in-0", "{{ in-0"],
  ])("are changed in Liquid: %s", (before, after) => {
    expect(renameInLiquid(before, ids("q-1"))).toBe(after);
  });

  it("are written in Liquid as the new ID needs it", () => {
    expect(renameInLiquid("{{in-0}}{{nodes.in-0}}", ids("0x"))).toBe('{{nodes["0x"]}}{{nodes["0x"]}}');
    expect(renameInLiquid("{{in-0}}{{nodes.in-0}}", ids("item"))).toBe('{{nodes["item"]}}{{nodes.item}}');
    expect(renameInLiquid("{{nodes.in-0}}", ids("size"))).toBe('{{nodes["size"]}}');
    expect(renameInLiquid("{% assign y = 1 %}{{in-0}}", ids("y"))).toBe('{% assign y = 1 %}{{nodes["y"]}}');
    const reserved = { nodes: new Map([["item", "q-1"]]), inputs: new Map<string, string>() };
    expect(renameInLiquid('{{item}}{{nodes.item}}{{nodes["item"]}}', reserved)).toBe(
      '{{item}}{{nodes.q-1}}{{nodes["q-1"]}}',
    );
  });

  it("are found in linear time in hostile texts", () => {
    const start = performance.now();
    for (const part of [
      "{{",
      "{%",
      "{{ '",
      "{% raw %}",
      "nodes[",
      'nodes["',
      "{% for x in y %}",
      "{% liquid\n",
      "`",
      '"""',
    ])
      for (const rename of [renameInCel, renameInLiquid]) rename(part.repeat(200_000 / part.length), ids("q-1"));
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("a node with a new ID", () => {
  it("leaves every valid flow valid, and the old ID back gives the flow that there was", () => {
    fc.assert(
      fc.property(validFlows, fc.nat(), fc.nat(), (flow, one, other) => {
        const document = frozen(flow) as unknown as FlowDocument;
        const scopes = scopesOf(document);
        const scope = scopes[one % scopes.length] ?? [];
        const nodes = nodesOf(graphAt(document, scope));
        const { id = "" } = nodes[other % nodes.length] ?? {};
        const { document: renamed } = apply(document, { type: "renameNode", scope, id, to: "zz-1" }, KINDS);
        expect(checkFlow(renamed, DEFAULT_FLOW_LIMITS)).toMatchObject({ valid: true });
        expect(nodesOf(graphAt(renamed, scope)).map((node) => node.id)).toContain("zz-1");
        const { document: back } = apply(renamed, { type: "renameNode", scope, id: "zz-1", to: id }, KINDS);
        expect(JSON.stringify(back)).toBe(JSON.stringify(document));
      }),
      { numRuns: 60 },
    );
  });

  it("is renamed in places, locks, notes, redaction and examples too, and nowhere else", () => {
    const flow: FlowDocument = {
      schema_version: 1,
      name: "in-0",
      nodes: [
        { id: "in-0", type: "input", config: { description: "{{in-0}}" } },
        {
          id: "code-0",
          type: "code",
          config: { source: 'nodes["in-0"] + "{{in-0}}"', args: { "in-0": 'nodes["in-0"]' } },
          skip_if: 'nodes["in-0"] == ""',
        },
        { id: "sub-0", type: "subflow", config: { project_id: "p", inputs: { "in-0": 'inputs["in-0"]' } } },
        { id: "http-0", type: "http", config: { url: "https://a/{{in-0}}", body: { flow: { a: ["{{in-0}}"] } } } },
        {
          id: "map-0",
          type: "map",
          config: {
            items: 'nodes["in-0"]',
            flow: {
              nodes: [
                { id: "tpl-0", type: "template", config: { template: "{{in-0}}" } },
                {
                  id: "loop-0",
                  type: "loop",
                  config: {
                    while: "true",
                    flow: {
                      nodes: [
                        { id: "in-0", type: "template" },
                        { id: "tpl-0", type: "template", config: { template: "{{in-0}}" } },
                      ],
                      edges: [],
                    },
                  },
                },
              ],
              edges: [],
            },
          },
        },
      ],
      edges: [{ source: "in-0", target: "http-0" }],
      settings: { redact: ["$.inputs.in-0", '$.nodes["in-0"].output.a', "$..in-0", "$.outputs['in-0']"] },
      examples: [{ name: "one", inputs: { "in-0": "in-0" } }],
      ui: {
        positions: { "in-0": { x: 1, y: 1 }, "in-00": { x: 1, y: 1 }, "map-0/in-0": { x: 1, y: 1 } },
        locked: ["in-0"],
      },
    };
    const { document } = apply(frozen(flow), { type: "renameNode", scope: [], id: "in-0", to: "q" }, KINDS);
    expect(document).toEqual({
      ...flow,
      nodes: [
        { id: "q", type: "input", config: { description: "{{in-0}}" } },
        {
          id: "code-0",
          type: "code",
          config: { source: 'nodes["in-0"] + "{{in-0}}"', args: { "in-0": 'nodes["q"]' } },
          skip_if: 'nodes["q"] == ""',
        },
        { id: "sub-0", type: "subflow", config: { project_id: "p", inputs: { "in-0": 'inputs["q"]' } } },
        { id: "http-0", type: "http", config: { url: "https://a/{{q}}", body: { flow: { a: ["{{q}}"] } } } },
        {
          id: "map-0",
          type: "map",
          config: {
            items: 'nodes["q"]',
            flow: {
              nodes: [
                { id: "tpl-0", type: "template", config: { template: "{{q}}" } },
                {
                  id: "loop-0",
                  type: "loop",
                  config: {
                    while: "true",
                    flow: {
                      nodes: [
                        { id: "in-0", type: "template" },
                        { id: "tpl-0", type: "template", config: { template: "{{in-0}}" } },
                      ],
                      edges: [],
                    },
                  },
                },
              ],
              edges: [],
            },
          },
        },
      ],
      edges: [{ source: "q", target: "http-0" }],
      settings: { redact: ["$.inputs.q", '$.nodes["q"].output.a', "$..in-0", "$.outputs['q']"] },
      examples: [{ name: "one", inputs: { q: "in-0" } }],
      ui: { positions: { q: { x: 1, y: 1 }, "in-00": { x: 1, y: 1 }, "map-0/in-0": { x: 1, y: 1 } }, locked: ["q"] },
    });
    const inside = apply(flow, { type: "renameNode", scope: [], id: "map-0", to: "each" }, KINDS).document;
    expect(Object.keys(inside.ui?.positions ?? {})).toEqual(["in-0", "in-00", "each/in-0"]);
  });

  it("cannot have an ID that the format refuses, or that means another node around or inside", () => {
    fc.assert(
      fc.property(documents, fc.string(), (document, to) => {
        const before = JSON.stringify(document);
        for (const bad of [
          "",
          "a b",
          "__proto__",
          "constructor",
          "x".repeat(65),
          document.nodes[1]?.id ?? "",
          `${to}/`,
        ])
          expect(
            JSON.stringify(apply(document, { type: "renameNode", scope: [], id: "in-0", to: bad }, KINDS).document),
          ).toBe(before);
      }),
      { numRuns: 20 },
    );
    const nested = (inner: string, deep = "[]"): FlowDocument => ({
      schema_version: 1,
      name: "n",
      nodes: [
        { id: "a", type: "template" },
        { id: "c", type: "template" },
        {
          id: "map-0",
          type: "map",
          config: {
            items: deep,
            flow: { nodes: [{ id: "b", type: "template", config: { template: inner } }], edges: [] },
          },
        },
      ],
      edges: [],
    });
    const taken = (id: string): string => `Another node already has the ID "${id}".`;
    expect(whyNotRename(nested(""), [], "a", "c", KINDS)).toBe(taken("c"));
    // Inside, `a` would then be the inner `b`; and the inner node, as `a`, would take what is meant for the outer one.
    expect(whyNotRename(nested("{{a}}"), [], "a", "b", KINDS)).toBe(taken("b"));
    expect(whyNotRename(nested("{{c}}"), [], "a", "b", KINDS)).toBeNull();
    expect(whyNotRename(nested("", 'nodes["a"]'), [], "a", "b", KINDS)).toBeNull();
    expect(whyNotRename(nested("{{a}}"), ["map-0"], "b", "a", KINDS)).toBe(taken("a"));
    expect(whyNotRename(nested("{{c}}"), ["map-0"], "b", "a", KINDS)).toBeNull();
    expect(whyNotRename(nested(""), [], "x", "d", KINDS)).toBe('Node "x" not found.');
  });
});
