import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { requireExpected, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";
import { plainText, textOptions } from "./text-options.ts";

const config = z.strictObject({
  ...textOptions,
  value: z.json().optional().describe("Text or JSON to compare with. Default: the expected output."),
});

export const exactMatch: EvaluatorKind<z.output<typeof config>> = {
  description: "The output equals the expected one: the same text, or the same JSON in any order of fields",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [{ name: "Exact match", description: "The output equals the row's expected output", config: {} }],
  find(options, subject) {
    const [output, expected] = [requireOutput(subject), requireExpected(subject, options.value)];
    const areTexts = typeof output === "string" || typeof expected === "string";
    return {
      value: areTexts
        ? plainText(output, options) === plainText(expected, options)
        : isDeepStrictEqual(output, expected),
    };
  },
};
