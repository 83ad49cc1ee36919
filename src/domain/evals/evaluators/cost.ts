import { z } from "zod";
import { EvaluatorError } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({});

export const cost: EvaluatorKind<z.output<typeof config>> = {
  description: "Cost of the run's model calls in US dollars; pass_threshold is the maximum allowed",
  config,
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Cost", description: "Cost of the run in US dollars", config: {} }],
  find(_, { sample: { cost_usd } }) {
    if (cost_usd === null)
      throw new EvaluatorError("no_cost", "The cost is not known: a model that was called has no price.");
    return { value: cost_usd };
  },
};
