import { z } from "zod";
import { EvaluatorError, jsonOf, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({});

export const jsonValid: EvaluatorKind<z.output<typeof config>> = {
  description: "The output is JSON: a value other than text, or text that can be parsed",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [{ name: "Valid JSON", description: "The output can be parsed as JSON", config: {} }],
  find(_, subject) {
    try {
      jsonOf(requireOutput(subject));
      return { value: true };
    } catch (error) {
      if (error instanceof EvaluatorError && error.code === "not_json")
        return { value: false, reasoning: error.message };
      throw error;
    }
  },
};
