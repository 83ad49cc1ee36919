import { z } from "zod";
import type { Json } from "../../json.ts";
import { requireExpected, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";
import { plainText, textOptions, wantedText } from "./text-options.ts";

const config = z.strictObject({
  ...textOptions,
  values: z
    .array(z.string().min(1).max(10_000))
    .min(1)
    .max(100)
    .optional()
    .describe("Default: the expected output; if that is a list, each of its items."),
  mode: z.enum(["all", "any"]).default("all"),
});

export const contains: EvaluatorKind<z.output<typeof config>> = {
  description: "The output contains the given texts: all of them, or at least one",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [
    { name: "Contains", description: "The output contains the row's expected output", config: { ignore_case: true } },
    {
      name: "Mentions one of",
      description: "The output contains one of several words",
      config: { values: ["sorry", "apologise"], mode: "any", ignore_case: true },
    },
  ],
  find(options, subject) {
    const text = plainText(requireOutput(subject), options);
    const expected = requireExpected(subject, options.values);
    const given = Array.isArray(expected) ? (expected as Json[]) : [expected];
    // An empty list looks for the empty text, which is rejected.
    const wanted = (given.length === 0 ? [""] : given).map((each) => wantedText(each, options));
    const missing = wanted.filter((each) => !text.includes(each));
    const value = options.mode === "all" ? missing.length === 0 : missing.length < wanted.length;
    return value
      ? { value }
      : {
          value,
          reasoning: `Not found: ${missing
            .slice(0, 5)
            .map((each) => JSON.stringify(each.slice(0, 100)))
            .join(", ")}`,
        };
  },
};
