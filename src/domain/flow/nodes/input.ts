import { z } from "zod";
import type { JsonObject } from "../../json.ts";
import { defineNode, remembersNothing, type NodeSpec } from "./spec.ts";

/** Fields of every node type whose value is in the run's body. */
export const inputFields = {
  required: z
    .boolean()
    .default(true)
    .describe("Whether a run without this input is rejected; has no effect if the input has a default"),
  description: z.string().max(2000).exactOptional().describe("What to enter, for people and models that fill it in"),
};

const config = z.strictObject({
  required: inputFields.required,
  default: z.string().exactOptional().describe("Value to use if the run sends none"),
  description: inputFields.description,
  max_length: z.int().min(1).exactOptional().describe("Maximum length of the text, in characters"),
});
export type InputConfig = z.infer<typeof config>;

/** The spec of a node type whose value is a text in the run's body. */
function textInput(shown: Pick<NodeSpec, "title" | "icon" | "description" | "example">): NodeSpec<InputConfig> {
  return defineNode({
    ...shown,
    group: "inputs",
    config,
    advanced: ["max_length"],
    input: true,
    target: false,
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
        schema: {
          type: "string",
          ...shownFields(config),
          ...(config.max_length !== undefined && { maxLength: config.max_length }),
          "x-max-bytes": limits.max_input_bytes,
        },
        required: config.required && config.default === undefined,
      }),
    },
  });
}

/** The fields of an input's schema that its configuration sets. */
export function shownFields({ description, default: value }: Pick<InputConfig, "description" | "default">): JsonObject {
  return { ...(description !== undefined && { description }), ...(value !== undefined && { default: value }) };
}

export const inputSpec = textInput({
  title: "Text",
  icon: "input",
  description: "A text given to the run, such as a question",
  example: { description: "Your question", max_length: 2000 },
});

export const stringSpec = textInput({
  title: "Long text",
  icon: "paragraph",
  description: "A long text given to the run, such as the contents of a document",
  example: { description: "The contract to check" },
});
