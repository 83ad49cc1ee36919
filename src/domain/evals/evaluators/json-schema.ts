import { z } from "zod";
import { checkValues } from "../../flow/forms/form.ts";
import { EvaluatorError, jsonOf, requireOutput } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  schema: z.record(z.string(), z.json()).describe("JSON Schema 2020-12; patterns are RE2."),
});

export const jsonSchema: EvaluatorKind<z.output<typeof config>> = {
  description: "The output is JSON that matches a schema",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [
    {
      name: "JSON of a shape",
      description: "The output is an object with the field answer",
      config: { schema: { type: "object", required: ["answer"], properties: { answer: { type: "string" } } } },
    },
  ],
  find({ schema }, subject) {
    let value;
    try {
      value = jsonOf(requireOutput(subject));
    } catch (error) {
      if (!(error instanceof EvaluatorError) || error.code !== "not_json") throw error;
      return { value: false, reasoning: error.message };
    }
    const checked = checkValues(schema, [value]);
    if (!checked.ok) throw new EvaluatorError("invalid_config", checked.message);
    const issues = checked.issues[0] ?? [];
    if (issues.length === 0) return { value: true };
    const places = issues
      .slice(0, 5)
      .map(({ path, message }) => `${path.length === 0 ? "the output" : path.join(".")} ${message}`);
    return { value: false, reasoning: places.join("; ").slice(0, 1000) };
  },
};
