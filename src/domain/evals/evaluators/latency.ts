import { z } from "zod";
import { EvaluatorError } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({});

export const latency: EvaluatorKind<z.output<typeof config>> = {
  description: "Duration of the run in ms; pass_threshold is the maximum allowed",
  config,
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Latency", description: "Duration of the run in ms", config: {} }],
  find(_, { sample: { latency_ms } }) {
    if (latency_ms === null) throw new EvaluatorError("no_latency", "The run has not started, so it has no latency.");
    return { value: latency_ms };
  },
};
