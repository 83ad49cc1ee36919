import { z } from "zod";
import { listUpTo, textUpTo } from "../../schema-parts.ts";
import { checkCel } from "../../flow/expressions/cel/cel.ts";
import { defineEvaluator } from "./kind.ts";

const part = z.looseObject({
  name: z.string().regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,63}$/, "At most 64 letters, digits and _"),
  weight: z.number().min(0).max(1000).default(1),
});

export const composite = defineEvaluator({
  description: "Combines several evaluators: their weighted mean, or the result of a CEL expression",
  config: z.strictObject({
    parts: listUpTo(20, part).describe(
      "Definitions of evaluators (type, config, target, score, negate), or the `evaluator_id` of one, whose current definition is copied. Composite and webhook evaluators are not allowed.",
    ),
    expression: textUpTo(10_000)
      .optional()
      .describe(
        "CEL over `nodes.<part>` (value, passed, label) and `inputs` that returns a number or a boolean. Default: the weighted mean, where a pass counts as 1.",
      ),
  }),
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.5, choices: ["numeric", "boolean"] },
  templates: [
    {
      name: "Right and short",
      description: "The right text, and fast enough",
      config: {
        parts: [
          { name: "right", type: "contains", config: {} },
          { name: "fast", type: "latency", score: { pass_threshold: 2000 } },
        ],
        expression: "nodes.right.passed && nodes.fast.passed ? 1.0 : 0.0",
      },
      pass_threshold: 1,
    },
  ],
  // An expression's result has no known scale, so there is no default threshold.
  threshold: ({ expression }, direction) => (expression === undefined && direction === "maximize" ? 0.5 : undefined),
  faults({ expression, parts }) {
    const names = parts.map(({ name }) => name);
    const twice = names.findIndex((name, i) => names.indexOf(name) !== i);
    if (twice !== -1) return [{ path: ["parts", twice, "name"], message: "Another part already has this name" }];
    const checked = expression === undefined ? undefined : checkCel(expression);
    return checked === undefined || checked.ok ? [] : [{ path: ["expression"], message: checked.message }];
  },
});
