import { describe, expect, it } from "vitest";
import { evaluateCel } from "../../src/domain/flow/expressions/cel/cel.ts";
import { checkTemplate, renderTemplate } from "../../src/domain/flow/expressions/liquid/liquid.ts";
import type { Scope } from "../../src/domain/flow/scope.ts";
import { cutNames, valuesFor } from "../../web/pages/editor/panel/preview-texts.ts";
import { completionsOf, lastText, partsOf, valuesSeen } from "../../web/pages/editor/panel/scope-values.ts";
import { FILTERS, placeIn } from "../../web/parts/code/template-place.ts";

const VALUE = { body: { title: "A", "odd key": 2, list: [{ n: 1 }] }, status: 200 };
const SCOPE = {
  values: [
    {
      key: "http-0",
      kind: "node" as const,
      node_path: "http-0",
      liquid: "http-0",
      cel: 'nodes["http-0"]',
      schema: { type: "object", properties: { status: { type: "integer" }, body: {} } },
    },
    { key: "$run", kind: "run" as const, node_path: null, liquid: "run", cel: "run", schema: { type: "object" } },
  ],
  nodes: [{ node_path: "tpl-0", path: ["nodes", 1], sees: ["http-0", "$run"] }],
  edges: [],
};
const seen = valuesSeen(
  SCOPE,
  "tpl-0",
  ({ key }) => (key === "http-0" ? { value: VALUE } : undefined),
  ({ key }) => key,
);

describe("the values in scope", () => {
  it("have the parts of their schema and of their last value, written so that the engine reads them", () => {
    expect(seen.map(({ name, type }) => [name, type])).toEqual([
      ["http-0", "object"],
      ["$run", "object"],
    ]);
    const scope = { nodes: { "http-0": VALUE }, inputs: {}, run: { id: "r", user_id: null, metadata: {} } } as Scope;
    let level = seen.slice(0, 1);
    let checked = 0;
    while (level.length > 0) {
      for (const { liquid, cel, last } of level) {
        expect([cel, evaluateCel(cel, scope)]).toEqual([cel, last]);
        const text = typeof last === "string" ? last : JSON.stringify(last);
        if (typeof last !== "object") expect(renderTemplate(`{{ ${liquid} }}`, scope)).toBe(text);
        checked += 1;
      }
      level = level.flatMap(partsOf);
    }
    expect(checked).toBeGreaterThan(6);
  });

  it("are completed with their type and last value", () => {
    const all = completionsOf(seen, "cel");
    expect(all).toContainEqual({ text: 'nodes["http-0"].body["odd key"]', type: "number", last: "2" });
    expect(all).toContainEqual({ text: 'nodes["http-0"].status', type: "number", last: "200" });
    expect(completionsOf(seen, "liquid")[0]?.text).toBe("http-0");
    expect(lastText({ hasLast: true, last: [1] })).toBe("1 item");
    expect(lastText({ hasLast: false })).toBeUndefined();
    expect(
      valuesSeen(
        null,
        "tpl-0",
        () => undefined,
        () => "",
      ),
    ).toEqual([]);
  });

  it("are sent for a preview only if the text names them", () => {
    expect(valuesFor("{{ http-0.status }}", seen)).toEqual({ nodes: { "http-0": VALUE } });
    expect(valuesFor("{{ other }}", seen)).toEqual({ nodes: {} });
    expect(valuesFor("nodes[item]", seen)).toEqual({ nodes: { "http-0": VALUE } });
    expect(cutNames({ a: { $truncated: true, size: 1 }, b: 1 })).toEqual(["a"]);
  });
});

describe("completion in a template", () => {
  it("offers only filters that templates have", () => {
    for (const filter of FILTERS) {
      const argument = ["append", "prepend", "split", "map", "where", "join", "date"].includes(filter) ? ': "a"' : "";
      const checked = checkTemplate(`{{ x | ${filter}${argument} }}`);
      expect([filter, checked.ok]).toEqual([filter, true]);
    }
  });

  it("knows whether a position is inside of braces", () => {
    for (const [before, place] of [
      ["", "text"],
      ["a {{ ", "output"],
      ["a {{ b }} ", "text"],
      ["{% if ", "tag"],
      ["{% if a %}{{ ", "output"],
    ] as const)
      expect([before, placeIn(before)]).toEqual([before, place]);
  });
});
