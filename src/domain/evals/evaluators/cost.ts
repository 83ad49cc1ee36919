import { z } from "zod";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({});

export const cost: EvaluatorKind<z.output<typeof config>> = {
  description: "What the run's model calls cost (US dollars); pass_threshold is the most allowed",
  config,
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Cost", description: "What the run cost (US dollars)", config: {} }],
  // A run without model calls costs nothing.
  find: (_, { sample }) => ({ value: sample.cost_usd ?? 0 }),
};
