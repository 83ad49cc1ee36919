import { z } from "zod";
import { compileRegex } from "../../flow/expressions/regex.ts";
import { EvaluatorError, requireOutput, textOf } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  pattern: z.string().min(1).max(2000).describe("RE2 syntax; it can match anywhere in the output."),
  flags: z
    .string()
    .regex(/^[imsu]{0,4}$/, "Only the flags i, m, s and u are allowed")
    .default(""),
});

export const regex: EvaluatorKind<z.output<typeof config>> = {
  description: "The output matches a regular expression",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [
    {
      name: "Has a date",
      description: "The output contains a date such as 2026-01-31",
      config: { pattern: "\\d{4}-\\d{2}-\\d{2}" },
    },
  ],
  faults({ pattern, flags }) {
    const compiled = compileRegex(pattern, flags);
    return compiled.ok ? [] : [{ path: ["pattern"], message: compiled.message }];
  },
  find({ pattern, flags }, subject) {
    const compiled = compileRegex(pattern, flags);
    if (!compiled.ok) throw new EvaluatorError("invalid_config", compiled.message);
    return { value: compiled.regex.test(textOf(requireOutput(subject))) };
  },
};
