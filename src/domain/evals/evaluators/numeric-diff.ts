import { z } from "zod";
import type { Json } from "../../json.ts";
import { EvaluatorError, requireExpected, requireOutput, textOf } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  value: z.number().optional().describe("Number to compare with. Default: the expected output."),
  mode: z
    .enum(["absolute", "relative"])
    .default("absolute")
    .describe("`absolute`: the difference itself; `relative`: divided by the magnitude of the expected value."),
});

export const numericDiff: EvaluatorKind<z.output<typeof config>> = {
  description: "Difference between a numeric output and the expected number; pass_threshold is the maximum allowed",
  config,
  score: { data_type: "numeric", direction: "minimize", pass_threshold: 0 },
  templates: [
    {
      name: "Numeric difference",
      description: "Difference from the expected number",
      config: { mode: "relative" },
    },
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
};

function numberOf(value: Json, what: string): number {
  const number = typeof value === "number" ? value : Number(textOf(value).trim() || Number.NaN);
  if (Number.isFinite(number)) return number;
  throw new EvaluatorError("not_a_number", `The ${what} is not a number: ${textOf(value).slice(0, 100)}`);
}
