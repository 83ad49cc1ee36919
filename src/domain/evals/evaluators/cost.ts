import { z } from "zod";
import { EvaluatorError } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({});

export const cost: EvaluatorKind<z.output<typeof config>> = {
  description: "What the run's model calls cost (US dollars); pass_threshold is the most allowed",
  config,
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Cost", description: "What the run cost (US dollars)", config: {} }],
  find(_, { sample: { cost_usd } }) {
    if (cost_usd === null)
      throw new EvaluatorError("no_cost", "What was called has no price, so its cost is not known.");
    return { value: cost_usd };
  },
};
