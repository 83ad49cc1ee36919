import { z } from "zod";
import { isObject } from "../../json.ts";
import type { Json, JsonObject } from "../../json.ts";
import { jsonOf, requireExpected, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  value: z.json().optional().describe("JSON to compare with. Default: the expected output."),
  ignore: z
    .array(z.string().min(1).max(200))
    .max(100)
    .default([])
    .describe("Names of fields to ignore at every level."),
  number_tolerance: z.number().min(0).default(0).describe("Maximum difference between numbers that count as equal."),
});
type Config = z.output<typeof config>;

/** How many leaves two values have together, and how many are equal at the same location. */
interface Tally {
  leaves: number;
  same: number;
  readonly different: string[];
}

export const jsonDiff: EvaluatorKind<Config> = {
  description:
    "Share of the output's JSON that matches the expected one: equal leaves divided by all leaves of both, 0 to 1",
  config,
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 1 },
  templates: [{ name: "JSON difference", description: "Compares JSON field by field", config: { ignore: ["id"] } }],
  find(options, subject) {
    const tally: Tally = { leaves: 0, same: 0, different: [] };
    compare(jsonOf(requireOutput(subject)), jsonOf(requireExpected(subject, options.value)), "$", options, tally);
    const value = tally.leaves === 0 ? 1 : tally.same / tally.leaves;
    return tally.different.length === 0
      ? { value }
      : { value, reasoning: `Different: ${tally.different.join(", ")}`.slice(0, 1000) };
  },
};

function compare(a: Json | undefined, b: Json | undefined, place: string, config: Config, tally: Tally): void {
  if (Array.isArray(a) || Array.isArray(b)) {
    const [x, y] = [Array.isArray(a) ? (a as Json[]) : undefined, Array.isArray(b) ? (b as Json[]) : undefined];
    const length = Math.max(x?.length ?? 0, y?.length ?? 0);
    if (length === 0) return leaf(x !== undefined && y !== undefined, place, tally);
    for (let i = 0; i < length; i++) compare(x?.[i], y?.[i], `${place}[${i}]`, config, tally);
  } else if (isObject(a) || isObject(b)) {
    const [x, y] = [isObject(a) ? a : {}, isObject(b) ? b : {}];
    const names = [...new Set([...Object.keys(x), ...Object.keys(y)])].filter((name) => !config.ignore.includes(name));
    if (names.length === 0) return leaf(isObject(a) && isObject(b), place, tally);
    for (const name of names) compare(own(x, name), own(y, name), `${place}.${name}`, config, tally);
  } else {
    const areNumbers = typeof a === "number" && typeof b === "number";
    leaf(areNumbers ? Math.abs(a - b) <= config.number_tolerance : a === b, place, tally);
  }
}

function leaf(isSame: boolean, place: string, tally: Tally): void {
  tally.leaves += 1;
  if (isSame) tally.same += 1;
  else if (tally.different.length < 10) tally.different.push(place);
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
