import { z } from "zod";
import { syntaxFaultOf } from "../../flow/nodes/code-syntax.ts";
import { failedRuns } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  source: z
    .string()
    .min(1)
    .max(100_000)
    .describe(
      "JavaScript that defines main({inputs, output, outputs, expected, expected_outputs, nodes, citations, passages, usage, latency_ms, cost_usd, metadata, state, error}) and returns a number, a boolean, text, or {value, label, reasoning, passed}. Network, files and modules are not available.",
    ),
  failed_runs: failedRuns,
  timeout_ms: z.int().min(100).max(10_000).default(2000),
});
export type CodeConfig = z.output<typeof config>;

export const code: EvaluatorKind<CodeConfig> = {
  description: "Scores the output with your own JavaScript, in a sandbox",
  config,
  score: {
    data_type: "numeric",
    direction: "maximize",
    pass_threshold: null,
    choices: ["numeric", "boolean", "categorical"],
  },
  templates: [
    {
      name: "Code",
      description: "Scores the number of words against a limit",
      config: { source: "function main({ output }) {\n  return Math.min(1, 100 / output.split(' ').length);\n}" },
    },
  ],
  faults({ source }) {
    const fault = syntaxFaultOf(source);
    if (fault) return [{ path: ["source"], message: `Line ${fault.line}: ${fault.message}` }];
    return /\bmain\b/.test(source)
      ? []
      : [{ path: ["source"], message: "The source must define a function named main" }];
  },
};
