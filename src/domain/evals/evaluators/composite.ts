import { z } from "zod";
import { checkCel } from "../../flow/expressions/cel/cel.ts";
import type { EvaluatorKind } from "./kind.ts";

const part = z.looseObject({
  name: z.string().regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,63}$/, "Letters, digits and _, at most 64"),
  weight: z.number().min(0).max(1000).default(1),
});
const config = z.strictObject({
  parts: z
    .array(part)
    .min(1)
    .max(20)
    .describe(
      "Evaluators as they are created (type, config, target, score, negate), or the `evaluator_id` of one, which is taken over as it is then. Not composite, not webhook.",
    ),
  expression: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      "CEL over `nodes.<part>` (value, passed, label) and `inputs`, giving a number or a boolean. Default: the mean by weight, where passed counts 1.",
    ),
});

export const composite: EvaluatorKind<z.output<typeof config>> = {
  description: "Several evaluators as one: their mean by weight, or what a CEL expression makes of them",
  config,
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.5, choices: ["numeric", "boolean"] },
  templates: [
    {
      name: "Right and short",
      description: "The right text, and not too slow",
      config: {
        parts: [
          { name: "right", type: "contains", config: {} },
          { name: "fast", type: "latency", score: { pass_threshold: 2000 } },
        ],
        expression: "nodes.right.passed && nodes.fast.passed ? 1.0 : 0.0",
      },
    },
  ],
  faults({ expression, parts }) {
    const names = parts.map(({ name }) => name);
    const twice = names.findIndex((name, i) => names.indexOf(name) !== i);
    if (twice !== -1) return [{ path: ["parts", twice, "name"], message: "Another part has this name" }];
    const checked = expression === undefined ? undefined : checkCel(expression);
    return checked === undefined || checked.ok ? [] : [{ path: ["expression"], message: checked.message }];
  },
};
