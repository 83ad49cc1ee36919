import { z } from "zod";
import type { JsonObject } from "../../json.ts";
import { defineNode, remembersNothing, type NodeSpec } from "./spec.ts";

const config = z.strictObject({
  required: z.boolean().default(true).describe("Whether a run without it is refused; never so where it has a default"),
  default: z.string().exactOptional().describe("The value where a run gives none"),
  description: z.string().max(2000).exactOptional().describe("What to give, for people and models that fill it in"),
  max_length: z.int().min(1).exactOptional().describe("Longest text (characters)"),
});
export type InputConfig = z.infer<typeof config>;

/** The spec of a kind whose value is a text of the run's body. */
export function textInput(description: string): NodeSpec<InputConfig> {
  return defineNode({
    description,
    config,
    input: true,
    execution: () => "inline",
    faults: ({ default: value, max_length: max }) =>
      value !== undefined && max !== undefined && [...value].length > max
        ? [{ path: ["default"], severity: "error", message: `The default is longer than max_length (${max})` }]
        : [],
    remembers: remembersNothing,
    io: {
      output: ({ required, default: value }) => ({
        type: required || value !== undefined ? "string" : ["string", "null"],
      }),
      input: (config, limits) => ({
        schema: inputSchema(config, limits),
        required: config.required && config.default === undefined,
      }),
    },
  });
}

function inputSchema(config: InputConfig, limits: { readonly max_input_bytes: number }): JsonObject {
  return {
    type: "string",
    ...(config.description === undefined ? {} : { description: config.description }),
    ...(config.default === undefined ? {} : { default: config.default }),
    ...(config.max_length === undefined ? {} : { maxLength: config.max_length }),
    "x-max-bytes": limits.max_input_bytes,
  };
}

export const inputSpec = textInput("A text that the run is given, such as a question");
