import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { EvaluatorError, requireExpected, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";
import { plainText, textOptions } from "./text-options.ts";

/** Longest text (characters), because the work grows with the product of both lengths. */
const MAX_CHARS = 50_000;
const MAX_UNITS = 2 * MAX_CHARS;

const config = z.strictObject({
  ...textOptions,
  value: z.string().max(MAX_CHARS).optional().describe("Text to compare with. Default: the expected output."),
});

export const levenshtein: EvaluatorKind<z.output<typeof config>> = {
  description: "Similarity to the expected text: 1 minus the edit distance divided by the length of the longer text",
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
    const output = plainText(requireOutput(subject), options);
    const expected = plainText(requireExpected(subject, options.value), options);
    const tooLong = new EvaluatorError(
      "text_too_long",
      `Texts can have at most ${MAX_CHARS} characters for this comparison.`,
    );
    if (Math.max(output.length, expected.length) > MAX_UNITS) throw tooLong;
    const [a, b] = unitsOf(output, expected);
    const longest = Math.max(a.length, b.length);
    if (longest > MAX_CHARS) throw tooLong;
    return { value: longest === 0 ? 1 : 1 - distance(a, b) / longest };
  },
};

/** Maps each character of two texts to one UTF-16 unit, the same for equal characters, so that an emoji counts once. */
function unitsOf(...texts: [string, string]): [string, string] {
  if (!texts.some((text) => /[\ud800-\udfff]/.test(text))) return texts;
  const units = new Map<string, string>();
  const [a, b] = texts.map((text) => {
    const mapped: string[] = [];
    for (const character of text) {
      const unit = units.get(character) ?? String.fromCharCode(units.size);
      units.set(character, unit);
      mapped.push(unit);
    }
    return mapped.join("");
  });
  if (units.size > 0xffff)
    throw new EvaluatorError("text_too_long", "The texts have too many different characters to compare.");
  return [a ?? "", b ?? ""];
}
