import { z } from "zod";
import { distinct } from "../../distinct.ts";
import { checkValues } from "../../flow/forms/form.ts";
import { isObject, ownMember, type Json } from "../../json.ts";
import { textUpTo } from "../../schema-parts.ts";
import {
  defineEvaluator,
  EvaluatorError,
  jsonOf,
  requireExpected,
  requireOutput,
  textOf,
  type Subject,
} from "./kind.ts";

/** The output as JSON; or why its text is not JSON, which is a score and not an error. */
function jsonOutput(subject: Subject): { readonly json: Json } | { readonly fault: string } {
  try {
    return { json: jsonOf(requireOutput(subject)) };
  } catch (error) {
    if (!(error instanceof EvaluatorError) || error.code !== "not_json") throw error;
    return { fault: error.message };
  }
}

export const jsonValid = defineEvaluator({
  description: "The output is JSON: a value other than text, or text that can be parsed",
  config: z.strictObject({}),
  templates: [{ name: "Valid JSON", description: "The output can be parsed as JSON", config: {} }],
  find(_, subject) {
    const read = jsonOutput(subject);
    return "json" in read ? { value: true } : { value: false, reasoning: read.fault };
  },
});

export const jsonSchema = defineEvaluator({
  description: "The output is JSON that matches a schema",
  config: z.strictObject({
    schema: z.record(z.string(), z.json()).describe("JSON Schema 2020-12; patterns are RE2."),
  }),
  templates: [
    {
      name: "JSON of a shape",
      description: "The output is an object with the field answer",
      config: { schema: { type: "object", required: ["answer"], properties: { answer: { type: "string" } } } },
    },
  ],
  find({ schema }, subject) {
    const read = jsonOutput(subject);
    if ("fault" in read) return { value: false, reasoning: read.fault };
    const checked = checkValues(schema, [read.json]);
    if (!checked.ok) throw new EvaluatorError("invalid_config", checked.message);
    const issues = checked.issues[0] ?? [];
    if (issues.length === 0) return { value: true };
    const places = issues
      .slice(0, 5)
      .map(({ path, message }) => `${path.length === 0 ? "the output" : path.join(".")} ${message}`);
    return { value: false, reasoning: places.join("; ").slice(0, 1000) };
  },
});

const diffConfig = z.strictObject({
  value: z.json().optional().describe("JSON to compare with. Default: the expected output."),
  ignore: z.array(textUpTo(200)).max(100).default([]).describe("Names of fields to ignore at every level."),
  number_tolerance: z.number().min(0).default(0).describe("Maximum difference between numbers that count as equal."),
});

export const jsonDiff = defineEvaluator({
  description:
    "Share of the output's JSON that matches the expected one: equal leaves divided by all leaves of both, 0 to 1",
  config: diffConfig,
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 1 },
  templates: [{ name: "JSON difference", description: "Compares JSON field by field", config: { ignore: ["id"] } }],
  find(options, subject) {
    const [output, expected] = [jsonOf(requireOutput(subject)), jsonOf(requireExpected(subject, options.value))];
    const { leaves, same, different } = compare(output, expected, options);
    const value = leaves === 0 ? 1 : same / leaves;
    return different.length === 0
      ? { value }
      : { value, reasoning: `Different: ${different.join(", ")}`.slice(0, 1000) };
  },
});

/** How many leaves two values have together, how many are equal at the same location, and the locations of some that differ. */
function compare(output: Json, expected: Json, { ignore, number_tolerance }: z.output<typeof diffConfig>) {
  const different: string[] = [];
  let [leaves, same] = [0, 0];
  const leaf = (isSame: boolean, place: string): void => {
    leaves += 1;
    if (isSame) same += 1;
    else if (different.length < 10) different.push(place);
  };
  const visit = (a: Json | undefined, b: Json | undefined, place: string): void => {
    if (Array.isArray(a) || Array.isArray(b)) {
      const [x, y] = [Array.isArray(a) ? (a as Json[]) : undefined, Array.isArray(b) ? (b as Json[]) : undefined];
      const length = Math.max(x?.length ?? 0, y?.length ?? 0);
      if (length === 0) return leaf(x !== undefined && y !== undefined, place);
      for (let i = 0; i < length; i++) visit(x?.[i], y?.[i], `${place}[${i}]`);
    } else if (isObject(a) || isObject(b)) {
      const [x, y] = [isObject(a) ? a : {}, isObject(b) ? b : {}];
      const names = distinct([...Object.keys(x), ...Object.keys(y)]).filter((name) => !ignore.includes(name));
      if (names.length === 0) return leaf(isObject(a) && isObject(b), place);
      for (const name of names) visit(ownMember(x, name), ownMember(y, name), `${place}.${name}`);
    } else {
      const areNumbers = typeof a === "number" && typeof b === "number";
      leaf(areNumbers ? Math.abs(a - b) <= number_tolerance : a === b, place);
    }
  };
  visit(output, expected, "$");
  return { leaves, same, different };
}

export const numericDiff = defineEvaluator({
  description: "Difference between a numeric output and the expected number; pass_threshold is the maximum allowed",
  config: z.strictObject({
    value: z.number().optional().describe("Number to compare with. Default: the expected output."),
    mode: z
      .enum(["absolute", "relative"])
      .default("absolute")
      .describe("`absolute`: the difference itself; `relative`: divided by the magnitude of the expected value."),
  }),
  score: { data_type: "numeric", direction: "minimize", pass_threshold: 0 },
  templates: [
    { name: "Numeric difference", description: "Difference from the expected number", config: { mode: "relative" } },
  ],
  find({ value, mode }, subject) {
    const output = numberOf(requireOutput(subject), "output");
    const expected = numberOf(requireExpected(subject, value), "expected output");
    const difference = Math.abs(output - expected);
    if (!Number.isFinite(difference))
      throw new EvaluatorError("not_comparable", "The difference is too large for a number.");
    if (mode === "absolute") return { value: difference };
    if (expected !== 0) return { value: difference / Math.abs(expected) };
    if (difference === 0) return { value: 0 };
    throw new EvaluatorError("not_comparable", "The expected value is 0: a relative difference is not defined.");
  },
});

function numberOf(value: Json, what: string): number {
  const number = typeof value === "number" ? value : Number(textOf(value).trim() || Number.NaN);
  if (Number.isFinite(number)) return number;
  throw new EvaluatorError("not_a_number", `The ${what} is not a number: ${textOf(value).slice(0, 100)}`);
}
