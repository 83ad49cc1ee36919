import { z } from "zod";
import { failedRuns } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: "Must be an http or https URL" }).max(2048),
  failed_runs: failedRuns,
  timeout_ms: z.int().min(100).max(60_000).default(15_000),
});
export type WebhookConfig = z.output<typeof config>;

export const webhook: EvaluatorKind<WebhookConfig> = {
  description:
    "Sends the sample as a POST to your own service, signed like a webhook; the service returns {value, passed, label, reasoning}",
  config,
  score: {
    data_type: "numeric",
    direction: "maximize",
    pass_threshold: null,
    choices: ["numeric", "boolean", "categorical"],
  },
  templates: [
    { name: "Webhook", description: "Calls your own scoring service", config: { url: "https://example.com/score" } },
  ],
};
