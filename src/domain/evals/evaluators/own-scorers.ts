import { z } from "zod";
import { syntaxFaultOf } from "../../flow/nodes/code-syntax.ts";
import { textUpTo, wholeNumber } from "../../schema-parts.ts";
import { defineEvaluator } from "./kind.ts";

/** They can also score failed and cancelled runs, whose error they see. */
const failed_runs = z
  .boolean()
  .default(false)
  .describe(
    "Whether failed and cancelled runs are scored too; `state` and `error` tell what happened. Otherwise they get an error instead of a score.",
  );

const score = {
  data_type: "numeric",
  direction: "maximize",
  pass_threshold: null,
  choices: ["numeric", "boolean", "categorical"],
} as const;

export const code = defineEvaluator({
  description: "Scores the output with your own JavaScript, in a sandbox",
  config: z.strictObject({
    source: textUpTo(100_000).describe(
      "JavaScript that defines main({inputs, output, outputs, expected, expected_outputs, nodes, citations, passages, usage, latency_ms, cost_usd, metadata, state, error}) and returns a number, a boolean, text, or {value, label, reasoning, passed}. Network, files and modules are not available.",
    ),
    failed_runs,
    timeout_ms: wholeNumber(100, 10_000).default(2000),
  }),
  score,
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
});

export const webhook = defineEvaluator({
  description:
    "Sends the sample as a POST to your own service, signed like a webhook; the service returns {value, passed, label, reasoning}",
  config: z.strictObject({
    url: z.url({ protocol: /^https?$/, error: "Must be an http or https URL" }).max(2048),
    failed_runs,
    timeout_ms: wholeNumber(100, 60_000).default(15_000),
  }),
  score,
  templates: [
    { name: "Webhook", description: "Calls your own scoring service", config: { url: "https://example.com/score" } },
  ],
});
