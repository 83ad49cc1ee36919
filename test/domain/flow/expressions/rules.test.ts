import { describe, expect, it } from "vitest";
import { evaluateCel } from "../../../../src/domain/flow/expressions/cel/cel.ts";
import { renderTemplate } from "../../../../src/domain/flow/expressions/liquid/liquid.ts";
import { isForWorkflow, RULES } from "../../../../src/domain/flow/expressions/rules.ts";
import type { Source } from "../../../../src/domain/flow/expressions/evaluated-kinds.ts";
import { workOf } from "../../../../src/domain/flow/expressions/work.ts";
import { compileFlow } from "../../../../src/domain/flow/plan/compile.ts";
import { NodeFailure } from "../../../../src/domain/runs/failure.ts";
import { Budgets } from "../../../../workflows/engine/budgets.ts";
import { edges, flow, node } from "../../../support/flows.ts";
import { scope } from "../../../support/scope.ts";

const values = {
  text: "Straße, ŐRÜLT ﬁx 😀 İı Σίσυφος",
  list: [3, 1.5, -0, 1e21, "a", null, true, { text: "t" }],
  people: [
    { name: "Ada", born: 1815, tags: ["x", "y"] },
    { name: "Émile", born: 1840, tags: [] },
  ],
  time: "2024-03-31T00:59:59.123456789Z",
  "in-0": 'a,b;"c" <d> & é',
};

const CEL = [
  "1 + 2 * 3 - 7 / 2",
  "-7 / 2",
  "-7 % 3",
  "7.0 / 2.0",
  "1 / 0",
  "9007199254740993 + 1",
  "9223372036854775807 + 1",
  "0.1 + 0.2",
  "1e300 * 1e300",
  "int(2.9)",
  'int("12")',
  'double("1e3")',
  "string(1e21)",
  "string(1.0)",
  "string(nodes.list)",
  "nodes.list",
  "nodes.list[0] == 3 && nodes.list[9] == 1 || true",
  "nodes.missing",
  "has(nodes.people[0].age)",
  "nodes.people.filter(p, p.born > 1820).map(p, p.name)",
  "nodes.people.map(p, size(p.tags) > 0, p.name + '!')",
  "nodes.people.exists_one(p, 'x' in p.tags)",
  "nodes.list.all(x, x != 4)",
  "{'a': 1, 'b': [1, 2]}.map(k, k)",
  "size(nodes.text)",
  "nodes.text.lowerAscii()",
  "nodes.text.upperAscii()",
  "nodes.text.charAt(0) + nodes.text.substring(4, 7)",
  "nodes.text.split(' ').join('|')",
  "nodes.text.replace('ß', 'ss').indexOf('ﬁ')",
  'nodes.text.matches("(?i)^stra.e")',
  'nodes.text.matches("\\\\p{Lu}{3}")',
  "timestamp(nodes.time)",
  "timestamp(nodes.time) + duration('36h') - timestamp('2024-01-01T00:00:00Z')",
  "timestamp('2024-02-30T00:00:00Z')",
  "timestamp(nodes.time).getDayOfYear()",
  "timestamp(nodes.time).getHours('+05:30')",
  "timestamp(nodes.time).getDayOfWeek('UTC')",
  "duration('1h30m').getMinutes()",
  "nodes.people[0] == {'tags': ['x', 'y'], 'name': 'Ada', 'born': 1815}",
  "'b' < 'É' && 'Z' < 'a' && '😀' > '\\uffff'",
];

const LIQUID = [
  "{{ text }}",
  "{{ list }}",
  "{{ people[0] | json }}",
  "{{ people.first.name | upcase }} {{ people.last.born | plus: 1.5 }}",
  "{{ text | upcase }}",
  "{{ text | downcase }}",
  "{{ text | capitalize }}",
  "{{ text | size }} {{ text | slice: 1, 4 }} {{ text | truncate: 12 }} {{ text | truncatewords: 2 }}",
  "{{ in-0 | escape }}{{ in-0 | url_encode }}",
  "{{ in-0 | split: ',' | size }}",
  "{{ ' a  b ' | strip }}|{{ ' a \n b ' | squish }}",
  "{{ 7 | divided_by: 2 }} {{ 7 | divided_by: 2.0 }} {{ 2.5 | round }} {{ -2.5 | round }} {{ 1.005 | round: 2 }}",
  "{{ 7 | modulo: -3 }} {{ '12abc' | plus: 1 }} {{ 1e21 }} {{ 0.1 | plus: 0.2 }}",
  "{{ '2024-03-31' | date: '%A %d %B %Y, week %V, day %j, %H:%M %Z' }}",
  "{{ '31 Mar 2024 10:00 EST' | date: '%c' }}",
  "{{ 'Sun, 31 Mar 2024 02:30' | date }}",
  "{% if people.size > 1 and text contains 'ß' %}yes{% else %}no{% endif %}",
  "{% assign a = 'x' | append: text %}{{ a | size }}{% case list[4] %}{% when 'a' %}A{% endcase %}",
  "{{ missing.member | default: 'none' }}{{ null }}{{ false }}",
  "{{ text | unknown_filter }}",
  "{{ '9007199254740993' | plus: 1 | times: 2 }} {{ '9007199254740993' | round: -2 }} {{ 9007199254740991 | plus: 2 }}",
  "{{ '9007199254740993' | plus: 0.5 }}",
  "{{ 9007199254740993 }}",
  "{{ time | date: '%H:%M %z', '+05:30' }}",
];

/** The work that a source takes, and its result or error code. */
function outcome(source: Source, rules: number): string {
  const work = workOf([source], JSON.stringify(values).length);
  let yields: string;
  try {
    const result =
      source.language === "cel"
        ? evaluateCel(source.source, scope(values))
        : renderTemplate(source.source, scope(values), rules);
    yields = JSON.stringify(result);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    yields = error.code;
  }
  return `${source.language}  ${source.source.replaceAll("\n", "\\n")}\n  work ${work}\n  ${yields}\n`;
}

describe("the rules that workflows use to evaluate expressions", () => {
  // If this fails, a change has broken runs in progress, because a replay would decide differently. Give the change the
  // next number of RULES and keep the old behaviour for plans with an older number; vitest then writes the file of the
  // new number.
  it.each([2, RULES])("keep the outcomes recorded for version %i", async (rules) => {
    const sources = [
      ...CEL.map((source): Source => ({ language: "cel", source })),
      ...LIQUID.map((source): Source => ({ language: "liquid", source })),
    ];
    const outcomes = sources.map((source) => outcome(source, rules));
    await expect(outcomes.join("\n")).toMatchFileSnapshot(`rules-${rules}.txt`);
  });

  it("keep the limits recorded for their version", () => {
    const once = (work: number) => new Budgets(0, 0).takesWork(work);
    expect([once(1_000_000), once(1_000_001)]).toEqual([true, false]);
    const all = new Budgets(0, 0);
    expect(Array.from({ length: 11 }, () => all.takesWork(1_000_000)).indexOf(false)).toBe(10);
    const items = new Budgets(0, 0);
    expect([items.takesInline(1000), items.takesInline(51), items.takesInline(50)]).toEqual([true, false, true]);
  });

  it("are named by every plan and every nested plan", () => {
    const inner = { nodes: [node("in-0", "input"), node("out-0", "output")], edges: edges("in-0 > out-0") };
    const nodes = [node("in-0", "input"), node("m", "map", { items: "[1]", flow: inner }), node("out-0", "output")];
    const plan = compileFlow(flow({ nodes, edges: edges("in-0 > m > out-0") }));
    expect([plan.rules, plan.nodes.find(({ id }) => id === "m")?.nested?.rules]).toEqual([RULES, RULES]);
  });

  it.each([
    ['timestamp(nodes.t).getHours("Europe/Berlin") > 8', false],
    ["timestamp(nodes.t).getHours(nodes.zone) > 8", false],
    ['nodes.l.map(x, [x, { "a": timestamp(x).getDate("utc") }])', false],
    ['true || timestamp(nodes.t).getMonth(true ? "UTC" : "Asia/Tokyo") == 1', false],
    ["timestamp(nodes.t).getHours() > 8", true],
    ['timestamp(nodes.t).getHours("UTC") > 8 && timestamp(nodes.t).getDate("-05:00") == 1', true],
    ['"Europe/Berlin" in nodes.l', true],
    ["1 +", true],
  ])("leave expressions with named time zones to an activity: %s", (source, inside) => {
    expect(
      isForWorkflow(
        [
          { language: "cel", source: "true" },
          { language: "cel", source },
        ],
        RULES,
      ),
    ).toBe(inside);
    expect(isForWorkflow([{ language: "cel", source }])).toBe(true);
  });

  it.each([
    ["{{ t | date: '%H', 'Europe/Berlin' }}", false],
    ["{% if t %}{{ t | upcase | date: '%H', zone }}{% endif %}", false],
    ["{{ t | date: '%H' }} {{ 'Europe/Berlin' }}", true],
    ["{{ t | date: '%H', '+02:00' }} {{ t | date: '%H', 'UTC' }} {{ t | date: '%H', 60 }}", true],
  ])("leave templates with named time zones to an activity: %s", (source, inside) => {
    expect(isForWorkflow([{ language: "liquid", source }], RULES)).toBe(inside);
    expect(isForWorkflow([{ language: "liquid", source }], 2)).toBe(true);
  });
});
