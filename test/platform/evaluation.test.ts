import { afterAll, describe, expect, it } from "vitest";
import { DEFAULT_FLOW_LIMITS } from "../../src/domain/flow/definition/limits.ts";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { Json } from "../../src/domain/json.ts";
import { createEvaluation } from "../../src/platform/evaluation/evaluation.ts";
import { edges, flow, node } from "../support/flows.ts";
import { scope } from "../support/scope.ts";

// Short limits abort endless work soon; work that completes gets generous ones.
const strict = createEvaluation({ nodeMs: 500, flowMs: 500, answerMs: 500, heapMib: 96 });
const roomy = createEvaluation({ nodeMs: 60_000, flowMs: 60_000, answerMs: 60_000 });
afterAll(() => Promise.all([strict.close(), roomy.close()]));

const many = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const often = (text: string, times: number): string => text.repeat(times);
const numbers = many(100_000, (index) => index);
const big = "a".repeat(4 * 1024 * 1024);

const render = (source: string, values: Record<string, Json>, on = strict, org = "org") =>
  on.sources(org, [{ language: "liquid", source }], scope(values)).then(([text]) => text);
const compute = (source: string, values: Record<string, Json>, on = strict) =>
  on.sources("org", [{ language: "cel", source }], scope(values)).then(([value]) => value);

async function failureOf(work: Promise<unknown>): Promise<NodeFailure> {
  const error: unknown = await work.then(
    () => expect.fail("it did not fail"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(NodeFailure);
  return error as NodeFailure;
}

/** Expects that later work still runs normally. */
const expectAlive = async (): Promise<void> =>
  expect(await render("{% for x in l %}{{ x }}{% endfor %}", { l: [1, 2] }, roomy)).toBe("12");

describe("regex-dos: endless work", { timeout: 60_000 }, () => {
  it.each<[string, string, Record<string, Json>]>([
    ["loops in loops", "{% for i in l %}{% for j in l %}{% endfor %}{% endfor %}", { l: numbers }],
    ["a long range", "{{ (1..1000000000) | size }}", {}],
    ["a range without end", "{% for i in (a..b) %}{% endfor %}", { a: 2 ** 53, b: 2 ** 53 + 8 }],
    ["text that doubles", `{% assign x = 'aa' %}${often("{% assign x = x | append: x %}", 60)}{{ x }}`, {}],
    [
      "output that is captured",
      "{% capture x %}{% for i in l %}{{ big }}{% endfor %}{% endcapture %}",
      { l: numbers, big },
    ],
    ["a text in place of each character", "{{ big | replace: 'a', big }}", { big }],
    [
      "lists that double",
      `{% assign x = l %}${often("{% assign x = x | concat: x %}", 60)}{{ x | size }}`,
      { l: numbers },
    ],
    ["lists that hold themselves", `{% assign x = l %}${often("{% assign x = x | push: x %}", 60)}{{ x }}`, { l: [1] }],
    ["comparing again and again", often("{% if p == p %}{% endif %}", 5000), { p: numbers.map((n) => [n]) }],
    ["a filter in each element", often("{{ l | where: 'x', 1 | size }}", 500), { l: numbers }],
    [
      "wide dates",
      often("{% assign x = 0 | date: '%99Y%99Y%99Y' %}{% for i in l %}{{ x }}{% endfor %}", 900),
      { l: numbers },
    ],
  ])("fails only the node with a costly template: %s", async (_, source, values) => {
    const failure = await failureOf(render(source, values));
    expect(["template_failed", "value_too_large"]).toContain(failure.code);
    expect(failure.message).toMatch(/work limit|limit exceeded|longer than|too long/);
    await expectAlive();
  });

  it.each<[string, string, Record<string, Json>]>([
    ["a list for each element", "nodes.l.map(x, nodes.l.filter(y, y == x)).size()", { l: numbers }],
    ["a pattern that is large", 'nodes.big.matches("(a?b?c?){300}d")', { big }],
    ["a pattern that multiplies", 'nodes.big.matches("(((a{900}){900}){900})")', { big }],
  ])("fails only the node with a costly expression: %s", async (_, source, values) => {
    const failure = await failureOf(compute(source, values));
    expect(["expression_too_costly", "expression_failed"]).toContain(failure.code);
    await expectAlive();
  });

  it("is impossible in a form's pattern, which takes linear time", async () => {
    expect(await roomy.answer("org", { pattern: "^(a+)+$" }, `${"a".repeat(50_000)}!`)).toHaveLength(1);
  });
});

describe("huge-list", { timeout: 60_000 }, () => {
  const always = (count: number, schema: object) => ({ allOf: many(count, () => schema) });
  it.each<[string, object, Json]>([
    ["many rules on many items", { items: always(900, { type: "null" }) }, many(4000, (a) => [a])],
    ["comparing every item with every other", always(700, { uniqueItems: true }), many(4000, (a) => ({ a }))],
    ["references that multiply", doubling(30), many(1000, (a) => a)],
  ])("a form answer that takes too long to check is rejected with the reason: %s", async (_, form, data) => {
    const issues = await strict.answer("org", form as Json, data);
    expect(issues).toMatchObject([{ path: [], message: expect.stringContaining("takes too long") }]);
    await expectAlive();
  });

  it("a flow that takes too long to check gets one problem that says so", async () => {
    const forms = many(60, (index) =>
      node(`ask-${index}`, "approval", {
        message: "?",
        form: {
          title: `${index}`,
          properties: Object.fromEntries(many(60, (n) => [`p${n}`, { pattern: `(?:a?b?){200}${index}.${n}` }])),
        },
      }),
    );
    const costly = flow({
      nodes: [...flow().nodes, ...forms],
      edges: [...flow().edges, ...forms.map(({ id }) => ({ source: "in-0", target: id }))],
    });
    const { valid, problems } = await strict.flow("org", costly, DEFAULT_FLOW_LIMITS);
    expect(valid).toBe(false);
    expect(problems).toMatchObject([{ code: "flow_too_costly", severity: "error", hint: expect.any(String) }]);
  });

  /** A schema with two references to the next level at each level. */
  function doubling(levels: number): object {
    const twice = (index: number) => ({ allOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] });
    const defs = Object.fromEntries(many(levels, (index) => [`d${index}`, twice(index + 1)]));
    return { $defs: { ...defs, [`d${levels}`]: { type: "null" } }, ...twice(0) };
  }
});

describe("evaluation in a separate process", () => {
  it("returns the same result as inline evaluation", async () => {
    const template = "{% for x in l %}{{ x.n | plus: 1 }}{{ x }}{% endfor %}";
    expect(await render(template, { l: [{ n: 1 }, { text: "t" }] }, roomy)).toBe('2{"n":1}1t');
    expect(await compute("nodes.l.map(x, nodes.l.map(y, nodes.l.size() * x + y))", { l: [1, 2] }, roomy)).toEqual([
      [3, 4],
      [5, 6],
    ]);
    const plain = flow({
      nodes: [...flow().nodes, node("t", "template", { template: "{{ in-0 }}" })],
      edges: edges("in-0 > t > out-0"),
    });
    expect(await roomy.flow("org", plain, DEFAULT_FLOW_LIMITS)).toMatchObject({
      valid: true,
      plan: { nodes: expect.any(Array) },
    });
    expect(await roomy.flow("org", { nodes: 1 }, DEFAULT_FLOW_LIMITS)).toMatchObject({ valid: false });
  });

  it("fails with the same error as a node", async () => {
    const failure = await failureOf(
      render("{% for x in l %}{{ x | divided_by: 'a' | slice }}{{ (1..x.y.z", { l: [1] }),
    );
    expect(failure).toMatchObject({
      code: "template_failed",
      message: expect.stringContaining("Not a valid template"),
    });
  });

  it("cannot reach the process", async () => {
    const names = ["process", "globalThis", "require", "constructor.constructor('return process')()"];
    for (const name of names) {
      const made = await render(`{% for x in l %}{{ ${name} }}{% endfor %}`, { l: [1] }, roomy).catch(() => "");
      expect(made).toBe("");
    }
  });

  it("does not affect other calls if a process runs out of memory", async () => {
    const greedy = createEvaluation({ nodeMs: 60_000, heapMib: 64 });
    try {
      const source = "{% for i in (a..b) %}{% endfor %}";
      const [failure, ...others] = await Promise.all([
        failureOf(render(source, { a: 2 ** 53, b: 2 ** 53 + 8 }, greedy)),
        ...many(4, () => render("{% for x in l %}{{ x }}{% endfor %}", { l: [1] }, greedy, "other")),
      ]);
      expect(failure).toMatchObject({ code: "template_failed", message: expect.stringContaining("64 MiB of memory") });
      expect(others).toEqual(["1", "1", "1", "1"]);
    } finally {
      await greedy.close();
    }
  });

  it("serves organisations round-robin, however many calls one of them has waiting", { timeout: 60_000 }, async () => {
    const order: string[] = [];
    const endless = "{% for i in l %}{% for j in l %}{% endfor %}{% endfor %}";
    const greedy = many(6, () => render(endless, { l: numbers }, strict, "greedy").catch(() => order.push("greedy")));
    await render("{% for x in l %}{{ x }}{% endfor %}", { l: [1] }, strict, "modest").then(() => order.push("modest"));
    await Promise.all(greedy);
    expect(order.indexOf("modest")).toBeLessThan(4);
  });
});
