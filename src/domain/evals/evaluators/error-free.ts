import { z } from "zod";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  nodes: z.boolean().default(false).describe("Also counts errors of nodes that did not fail the run."),
});

export const errorFree: EvaluatorKind<z.output<typeof config>> = {
  description: "The run completed without an error",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [{ name: "No error", description: "The run completed", config: {} }],
  find({ nodes }, { sample }) {
    if (sample.state !== "COMPLETED") {
      const { error } = sample;
      return {
        value: false,
        reasoning: error === null ? `The run is ${sample.state}` : `${error.code}: ${error.message}`.slice(0, 1000),
      };
    }
    const failed = nodes ? sample.nodes.filter((node) => node.state === "FAILED").map((node) => node.node_id) : [];
    return failed.length === 0
      ? { value: true }
      : { value: false, reasoning: `Failed: ${failed.slice(0, 20).join(", ")}` };
  },
};
