import { z } from "zod";
import { failedRuns } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: "An http or https address is expected" }).max(2048),
  failed_runs: failedRuns,
  timeout_ms: z.int().min(100).max(60_000).default(15_000),
});
export type WebhookConfig = z.output<typeof config>;

export const webhook: EvaluatorKind<WebhookConfig> = {
  description:
    "A service of your own: it is sent the sample as a POST, signed as webhooks are, and answers {value, passed, label, reasoning}",
  config,
  score: {
    data_type: "numeric",
    direction: "maximize",
    pass_threshold: null,
    choices: ["numeric", "boolean", "categorical"],
  },
  templates: [
    { name: "Webhook", description: "Asks a service of your own", config: { url: "https://example.com/score" } },
  ],
};
