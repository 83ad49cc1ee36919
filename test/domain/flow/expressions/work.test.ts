import { describe, expect, it } from "vitest";
import { workOf } from "../../../../src/domain/flow/expressions/work.ts";
import type { Source } from "../../../../src/domain/flow/expressions/evaluated-kinds.ts";

const set = (source: string): Source[] => [{ language: "cel", source }];
const template = (source: string): Source[] => [{ language: "liquid", source }];

/** Factor by which the work grows when values are ten times as long. */
const growth = (sources: readonly Source[]): number => workOf(sources, 1_000_000) / workOf(sources, 100_000);

describe("the estimated work of an expression", () => {
  it.each([
    ["member", 'nodes["a"].b == "x" && has(nodes.a.c)'],
    ["one macro", "nodes.l.filter(x, x.n > 1).map(x, x.name)"],
    ["a macro over parts of the element", "nodes.l.all(d, d.pages.exists(p, p.n > 0))"],
    ["a small pattern", 'nodes.a.matches("^[A-Z]{3}-[0-9]{2,4}$")'],
    ["replacing by a literal", 'nodes.a.replace("a", "b").split(",").join("; ")'],
  ])("is linear: %s", (_, source) => {
    expect(growth(set(source))).toBeLessThan(11);
  });

  it.each([
    ["reading a value for each element", "nodes.l.filter(x, x.n == nodes.a)"],
    ["replacing by a value", 'nodes.a.replace("a", nodes.b)'],
  ])("is quadratic: %s", (_, source) => {
    expect(growth(set(source))).toBeGreaterThan(50);
  });

  it.each([
    ["a macro in a macro over the same list", "nodes.l.map(x, nodes.l.map(y, nodes.l))"],
    ["replacing by values twice", 'nodes.a.replace("a", nodes.b).replace("b", nodes.a)'],
    ["a pattern that is a value", "nodes.a.matches(nodes.b)"],
    ["a large pattern", 'nodes.a.matches("(a?b?){240}")'],
  ])("has no bound: %s", (_, source) => {
    expect(workOf(set(source), 1)).toBe(Number.POSITIVE_INFINITY);
  });

  it("grows with each macro of a chain, because each can make the elements longer", () => {
    const chain = (length: number) => workOf(set(`nodes.l${".map(x, [x, x])".repeat(length)}`), 100);
    expect(chain(10) / chain(9)).toBeGreaterThanOrEqual(2);
  });

  it("grows with the outputs of a template, and has no bound with loops", () => {
    expect(growth(template("{{ a }}{{ b | json }}"))).toBeLessThan(11);
    expect(workOf(template("{{ a }}".repeat(100)), 1000)).toBeGreaterThan(100_000);
    expect(workOf(template("{% for x in a %}{% endfor %}"), 1)).toBe(Number.POSITIVE_INFINITY);
  });
});
