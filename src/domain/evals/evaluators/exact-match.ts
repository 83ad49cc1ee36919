import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { requireExpected, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";
import { plainText, textOptions } from "./text-options.ts";

const config = z.strictObject({ ...textOptions, value: z.json().optional().describe("Default: the expected output.") });

export const exactMatch: EvaluatorKind<z.output<typeof config>> = {
  description: "The output is the expected one: the same text, or the same JSON whatever the order of members",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [{ name: "Exact match", description: "The output is what the row expects", config: {} }],
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
