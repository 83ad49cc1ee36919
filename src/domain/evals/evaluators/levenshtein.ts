import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { EvaluatorError, requireExpected, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";
import { plainText, textOptions } from "./text-options.ts";

/** Longest text (UTF-16 units): the work grows with the product of both. */
const MAX_CHARS = 50_000;

const config = z.strictObject({
  ...textOptions,
  value: z.string().max(MAX_CHARS).optional().describe("Default: the expected output."),
});

export const levenshtein: EvaluatorKind<z.output<typeof config>> = {
  description: "How like the expected text the output is: 1 less the edit distance divided by the longer one's length",
  config,
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.8 },
  templates: [
    {
      name: "Almost the same text",
      description: "Similarity by edits of single characters",
      config: { ignore_case: true },
    },
  ],
  find(options, subject) {
    const a = plainText(requireOutput(subject), options);
    const b = plainText(requireExpected(subject, options.value), options);
    const longest = Math.max(a.length, b.length);
    if (longest > MAX_CHARS)
      throw new EvaluatorError("text_too_long", `Texts are compared up to ${MAX_CHARS} characters.`);
    return { value: longest === 0 ? 1 : 1 - distance(a, b) / longest };
  },
};
