import { z } from "zod";
import { EvaluatorError } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({});

export const latency: EvaluatorKind<z.output<typeof config>> = {
  description: "Milliseconds from the run's start to its end; pass_threshold is the most allowed",
  config,
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Latency", description: "How long the run took (ms)", config: {} }],
  find(_, { sample: { latency_ms } }) {
    if (latency_ms === null) throw new EvaluatorError("no_latency", "The run has not run.");
    return { value: latency_ms };
  },
};
