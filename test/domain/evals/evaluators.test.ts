import { describe, expect, it } from "vitest";
import { checkDefinition, scoreLocally } from "../../../src/domain/evals/evaluator.ts";
import { requireFinding, resultOf, verdictOf } from "../../../src/domain/evals/score-result.ts";
import { EVALUATOR_TYPES, TEMPLATES, kindOf, type EvaluatorType } from "../../../src/domain/evals/evaluators/index.ts";
import type { EvalSample } from "../../../src/domain/evals/evaluators/kind.ts";
import type { Json } from "../../../src/domain/json.ts";

const SAMPLE: EvalSample = {
  run_id: null,
  state: "COMPLETED",
  inputs: {},
  outputs: {},
  expected_outputs: {},
  metadata: {},
  error: null,
  latency_ms: 120,
  cost_usd: 0.25,
  usage: {},
  nodes: [],
  citations: [],
};

/** Scores an output against an expected output. */
function scored(input: Record<string, unknown>, output?: Json, expected?: Json, more: Partial<EvalSample> = {}) {
  const checked = checkDefinition(input);
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults));
  const outputs = output === undefined ? {} : { "out-0": output };
  const sample = { ...SAMPLE, outputs, expected_outputs: expected === undefined ? {} : { "out-0": expected }, ...more };
  const outcome = scoreLocally([checked.definition], [sample])[0]?.[0];
  if (outcome === undefined) throw new Error("no outcome");
  return resultOf(checked.definition, outcome);
}

/** Type, config, output, expected output, value, verdict; all worked out by hand. */
const CASES: ReadonlyArray<
  readonly [EvaluatorType, Record<string, unknown>, Json, Json | undefined, unknown, boolean | null]
> = [
  ["exact_match", {}, " Yes ", "Yes", true, true],
  ["exact_match", { trim: false }, " Yes ", "Yes", false, false],
  ["exact_match", { ignore_case: true }, "YES", "yes", true, true],
  ["exact_match", {}, { a: 1, b: [2] }, { b: [2], a: 1 }, true, true],
  ["exact_match", { value: 3 }, 3, undefined, true, true],
  ["exact_match", {}, "3", 3, true, true],
  ["contains", {}, "We open at nine", "nine", true, true],
  ["contains", { values: ["nine", "ten"] }, "We open at nine", undefined, false, false],
  ["contains", { values: ["nine", "ten"], mode: "any" }, "We open at nine", undefined, true, true],
  ["contains", { ignore_case: true }, "We Open", ["we", "OPEN"], true, true],
  ["starts_with", {}, "We open", "We", true, true],
  ["starts_with", { value: "open" }, "We open", undefined, false, false],
  ["ends_with", { ignore_case: true }, "We OPEN", "open", true, true],
  ["regex", { pattern: "^\\d{4}$" }, "2026", undefined, true, true],
  ["regex", { pattern: "a.b", flags: "is" }, "A\nB", undefined, true, true],
  ["regex", { pattern: "(a+)+$" }, `${"a".repeat(50_000)}b`, undefined, false, false],
  ["json_valid", {}, '{"a":1}', undefined, true, true],
  ["json_valid", {}, "{a:1}", undefined, false, false],
  ["json_valid", {}, [1], undefined, true, true],
  ["json_schema", { schema: { required: ["a"] } }, '{"a":1}', undefined, true, true],
  ["json_schema", { schema: { type: "array" } }, { a: 1 }, undefined, false, false],
  ["json_schema", { schema: {} }, "no json", undefined, false, false],
  // The leaves are a, b[0], b[1] and c; a and b[0] are equal.
  ["json_diff", {}, { a: 1, b: [1, 2] }, { a: 1, b: [1, 3], c: null }, 0.5, false],
  ["json_diff", { ignore: ["c"], number_tolerance: 1 }, { a: 1, b: [1, 2] }, { a: 1, b: [1, 3], c: 0 }, 1, true],
  ["json_diff", {}, "[]", [], 1, true],
  ["json_diff", {}, [1], [1, 2, 3, 4], 0.25, false],
  ["json_diff", {}, [], {}, 0, false],
  ["numeric_diff", {}, "42.5", 42, 0.5, false],
  ["numeric_diff", { mode: "relative" }, 90, 100, 0.1, false],
  ["numeric_diff", { value: -1 }, -1, undefined, 0, true],
  // Three edits turn kitten into sitting, which has seven characters.
  ["levenshtein", {}, "kitten", "sitting", 1 - 3 / 7, false],
  ["levenshtein", {}, "", "", 1, true],
  // Counts characters, not code units: one of four differs.
  ["levenshtein", {}, "ab😀c", "ab😃c", 0.75, false],
  ["levenshtein", {}, "👍", "a", 0, false],
  ["exact_match", {}, null, null, true, true],
  ["exact_match", { value: null }, null, "x", true, true],
  ["exact_match", { value: null }, "x", "x", false, false],
  ["json_diff", { value: null }, null, { a: 1 }, 1, true],
  ["latency", {}, "x", undefined, 120, null],
  ["cost", {}, "x", undefined, 0.25, null],
  ["error_free", {}, "x", undefined, true, true],
];

describe("a pass threshold", () => {
  const judging = (scale: object | undefined, more: object = {}) => ({
    type: "llm_judge",
    config: { rubric: "r", ...(scale && { scale }) },
    ...more,
  });
  const down = { score: { direction: "minimize" } };

  it.each([
    ["0 to 1 without a scale", judging(undefined), 0.7, 0, 1],
    ["1 to 10", judging({ min: 1, max: 10 }), 7.3, 1, 10],
    ["1 to 5", judging({ min: 1, max: 5 }), 3.8, 1, 5],
    ["-2 to 4", judging({ min: -2, max: 4 }), 2.2, -2, 4],
    ["0 to 100", judging({ min: 0, max: 100 }), 70, 0, 100],
    ["0 to 0.3", judging({ min: 0, max: 0.3 }), 0.21, 0, 0.3],
    ["the widest numbers", judging({ min: -1e308, max: 1e308 }), 4e307, -1e99, 1e308],
    ["1 to 10, where less is better", judging({ min: 1, max: 10 }, down), 3.7, 10, 1],
    ["0 to 1, where less is better", judging(undefined, down), 0.3, 1, 0],
    ["1 to 10, negated", judging({ min: 1, max: 10 }, { negate: true }), 7.3, 10, 1],
  ])("of a judge follows the judge's scale: %s", (_, input, threshold, worst, best) => {
    const checked = checkDefinition(input);
    if (!checked.ok) throw new Error(JSON.stringify(checked.faults));
    expect(checked.definition.score.pass_threshold).toBe(threshold);
    const passes = (value: number) => resultOf(checked.definition, { ok: true, finding: { value } }).passed;
    expect([passes(worst), verdictOf(checked.definition, worst)]).toEqual([false, false]);
    if (Math.abs(best) < 1e100) expect([passes(best), verdictOf(checked.definition, best)]).toEqual([true, true]);
  });

  it.each([
    ["beyond a judge's scale", judging({ min: 1, max: 10 }, { score: { pass_threshold: 0.7 } }), "pass_threshold"],
    [
      "for values that a judge on a scale does not give",
      judging(undefined, { score: { data_type: "boolean" } }),
      "data_type",
    ],
    ["that is missing where similarity has to be low", { type: "levenshtein", ...down }, "pass_threshold"],
    [
      "that is missing where a difference has to be large",
      { type: "numeric_diff", score: { direction: "maximize" } },
      "pass_threshold",
    ],
    [
      "that is missing where an expression has any scale",
      { type: "composite", config: { parts: [{ name: "a", type: "json_valid" }], expression: "10.0" } },
      "pass_threshold",
    ],
  ])("is required: %s", (_, input, member) => {
    expect(checkDefinition(input)).toMatchObject({ ok: false, faults: [{ path: ["score", member] }] });
  });

  it("of labels is set by each label, also for a value that a person corrects", () => {
    const labels = [
      { label: "bad", value: 1 },
      { label: "unsure", value: 5 },
      { label: "fine", value: 5, passes: true },
      { label: "so-so", value: 2 },
      { label: "good", value: 3, passes: true },
    ];
    const checked = checkDefinition({ type: "llm_judge", config: { rubric: "r", labels } });
    if (!checked.ok) throw new Error("refused");
    expect(checked.definition.score.pass_threshold).toBeNull();
    const verdicts = [1, 3, 4, 5, "bad", "good", "none"].map((value) => verdictOf(checked.definition, value));
    expect(verdicts).toEqual([false, true, null, null, false, true, null]);
    expect(verdictOf({ ...checked.definition, negate: true }, 1)).toBe(true);
  });
});

describe("evaluators", () => {
  it.each([
    ["contains", {}, ""],
    ["contains", {}, "  "],
    ["contains", {}, []],
    ["contains", {}, ["nine", ""]],
    ["contains", { values: [" "], mode: "any" }, "x"],
    ["starts_with", {}, ""],
    ["ends_with", { value: "\n" }, "x"],
  ] as const)("%s %j do not pass an output if the expected value is empty: %j", (type, config, expected) => {
    const found = scored({ type, config }, "We open at nine", expected);
    expect(found).toMatchObject({ passed: null, error: { code: "no_expected_output" } });
  });

  it.each(CASES)("%s %j: %j against %j is %j", (type, config, output, expected, value, passed) => {
    const result = scored({ type, config }, output, expected);
    expect(result.error).toBeNull();
    if (typeof value === "number") expect(result.value).toBeCloseTo(value, 12);
    else expect(result.value).toBe(value);
    expect(result.passed).toBe(passed);
  });

  it("do not accept a string or null as a verdict", () => {
    for (const passed of ["false", "true", 0, 1, {}])
      expect(() => requireFinding("boolean", { value: true, passed })).toThrow(
        "`passed` must be true, false, null or omitted",
      );
    expect(requireFinding("numeric", { value: 1, passed: null })).toEqual({ value: 1 });
    expect(requireFinding("numeric", { value: 1, passed: false })).toEqual({ value: 1, passed: false });
  });

  it("judge the path by the nodes that ran", () => {
    const node = (node_id: string, state = "COMPLETED") => ({ node_id, type: "template", state });
    const nodes = [node("a"), node("b"), node("c", "SKIPPED"), node("d", "FAILED")];
    const path = (config: Record<string, unknown>) => scored({ type: "path", config }, "x", undefined, { nodes }).value;
    expect(path({ ran: ["a", "d"], did_not_run: ["c"] })).toBe(true);
    expect(path({ ran: ["c"] })).toBe(false);
    expect(path({ ran: ["b", "a"] })).toBe(true);
    expect(path({ ran: ["b", "a"], in_order: true })).toBe(false);
    const errorFree = scored({ type: "error_free", config: { nodes: true } }, "x", undefined, { nodes });
    expect(errorFree).toMatchObject({ value: false, reasoning: "Failed: d" });
  });

  it("compare the citations with the expected ones", () => {
    const citations = [
      { resource_id: "1", resource_path: "a.md" },
      { resource_id: "1", resource_path: "a.md" },
      { resource_id: "2", resource_path: "b.md" },
    ];
    const cites = (config: Record<string, unknown>) =>
      scored({ type: "citation", config }, "x", undefined, { citations, metadata: { files: ["a.md", "c.md"] } });
    expect(cites({}).value).toBe(1);
    expect(cites({ min: 4 }).value).toBe(0.5);
    expect(cites({ resources: ["2", "a.md"] }).value).toBe(1);
    expect(cites({ metadata_field: "files" })).toMatchObject({
      value: 0.5,
      passed: false,
      reasoning: "Not cited: c.md",
    });
    expect(cites({ metadata_field: "none" }).error?.code).toBe("no_expected_output");
  });

  it("report an error for a failed run that has no output to score", () => {
    const failed = { state: "FAILED", error: { code: "guard_failed", message: "No" } } as const;
    expect(scored({ type: "error_free" }, undefined, undefined, failed)).toMatchObject({
      value: false,
      passed: false,
      reasoning: "guard_failed: No",
    });
    const nothing = scored({ type: "exact_match" }, undefined, "x", failed);
    expect(nothing).toMatchObject({ value: null, passed: null, error: { code: "no_output" } });
    expect(scored({ type: "exact_match" }, "x").error?.code).toBe("no_expected_output");
    expect(scored({ type: "numeric_diff" }, "many", 3).error?.code).toBe("not_a_number");
  });

  it("give no score if the difference is not a number or is too large to average", () => {
    const diff = (mode: string, output: Json, expected: Json) =>
      scored({ type: "numeric_diff", config: { mode } }, output, expected);
    expect(diff("absolute", 1e308, -1e308)).toMatchObject({
      value: null,
      passed: null,
      error: { code: "not_comparable" },
    });
    expect(diff("absolute", 1e308, 0)).toMatchObject({ passed: null, error: { code: "value_out_of_range" } });
    expect(diff("relative", 1, 1e-200)).toMatchObject({ passed: null, error: { code: "value_out_of_range" } });
    const definition = checkDefinition({ type: "numeric_diff" });
    if (!definition.ok) throw new Error("refused");
    // Infinity arrives as null from the process that scores.
    const finding = JSON.parse('{"value":null}');
    expect(resultOf(definition.definition, { ok: true, finding })).toMatchObject({
      passed: null,
      error: { code: "value_out_of_range" },
    });
  });

  it("score no output of a failed or cancelled run, even if it has some", () => {
    for (const state of ["FAILED", "CANCELLED"] as const)
      for (const type of ["exact_match", "contains", "levenshtein", "json_valid", "regex"]) {
        const config = type === "regex" ? { pattern: "a" } : {};
        expect(scored({ type, config }, "a", "a", { state }).error?.code).toBe("no_output");
      }
  });

  it("read the output by json_path, and read the expected value by it if that has the path", () => {
    const target = { output: "out-0", json_path: '$.items[-1]["the name"]' };
    const output = '{"items":[{"the name":"a"},{"the name":"b"}]}';
    expect(scored({ type: "exact_match", target }, output, "b").value).toBe(true);
    expect(scored({ type: "exact_match", target }, output, { items: [{ "the name": "b" }] }).value).toBe(true);
    expect(scored({ type: "exact_match", target }, '{"items":[{"the name":null}]}', null).value).toBe(true);
    const none = { items: [{ "the name": null }] };
    expect(scored({ type: "exact_match", target }, none, none).value).toBe(true);
    expect(scored({ type: "exact_match", target }, output, { other: 1 }).error?.code).toBe("no_expected_output");
    expect(scored({ type: "exact_match", target }, "[]", "b").error?.code).toBe("no_output");
    expect(scored({ type: "exact_match", target: { output: "out-1" } }, "x", "x").error?.code).toBe("no_output");
  });

  it("pass by threshold and direction, inverted if negate is set", () => {
    const close = (extra: object) => scored({ type: "levenshtein", ...extra }, "abcd", "abcx").passed;
    expect(close({})).toBe(false);
    expect(close({ score: { pass_threshold: 0.75 } })).toBe(true);
    expect(close({ score: { pass_threshold: 0.75, direction: "minimize" } })).toBe(true);
    expect(close({ score: { pass_threshold: 0.7, direction: "minimize" } })).toBe(false);
    expect(close({ score: { pass_threshold: null } })).toBe(null);
    expect(close({ negate: true })).toBe(true);
    expect(scored({ type: "contains", config: { values: ["x"] }, negate: true }, "abc")).toMatchObject({
      value: true,
      passed: true,
    });
  });

  it.each([
    ["an unknown type", { type: "vibes" }, ["type"]],
    ["an unknown option", { type: "regex", config: { pattern: "a", global: true } }, ["config", "global"]],
    ["a pattern that RE2 does not have", { type: "regex", config: { pattern: "(?=a)" } }, ["config", "pattern"]],
    ["code that does not parse", { type: "code", config: { source: "function main( {" } }, ["config", "source"]],
    [
      "a data type that the type does not give",
      { type: "latency", score: { data_type: "boolean" } },
      ["score", "data_type"],
    ],
    ["a path to many places", { type: "cost", target: { json_path: "$..x" } }, ["target", "json_path"]],
    [
      "a composite within a composite",
      {
        type: "composite",
        config: { parts: [{ name: "a", type: "composite", config: { parts: [{ name: "b", type: "cost" }] } }] },
      },
      ["config", "parts", 0, "type"],
    ],
    [
      "two parts of one name",
      {
        type: "composite",
        config: {
          parts: [
            { name: "a", type: "cost" },
            { name: "a", type: "cost" },
          ],
        },
      },
      ["config", "parts", 1, "name"],
    ],
    [
      "an expression that does not parse",
      { type: "composite", config: { parts: [{ name: "a", type: "cost" }], expression: "nodes.a +" } },
      ["config", "expression"],
    ],
    [
      "scale and labels at once",
      {
        type: "llm_judge",
        config: { rubric: "x", scale: { min: 0, max: 1 }, labels: [{ label: "a" }, { label: "b" }] },
      },
      ["config", "labels"],
    ],
  ])("refuse %s", (_, input, path) => {
    const checked = checkDefinition(input);
    expect(checked.ok ? [] : checked.faults.map((fault) => fault.path)).toContainEqual(path);
  });

  it("have a usable template for each type", () => {
    expect(new Set(TEMPLATES.map(({ type }) => type))).toEqual(new Set(EVALUATOR_TYPES));
    expect(new Set(TEMPLATES.map(({ template_id }) => template_id)).size).toBe(TEMPLATES.length);
    for (const { type, config, pass_threshold } of TEMPLATES) {
      const score = pass_threshold === undefined ? {} : { pass_threshold };
      expect(checkDefinition({ type, config, score })).toMatchObject({ ok: true });
    }
    for (const type of EVALUATOR_TYPES) expect(kindOf(type).description).not.toBe("");
  });
});
