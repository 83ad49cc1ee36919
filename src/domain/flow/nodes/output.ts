import { z } from "zod";
import { defineNode, liquid, remembersNothing } from "./spec.ts";
import { executionOfTemplate } from "./template.ts";

const config = z.strictObject({
  value: z
    .string()
    .exactOptional()
    .describe("Liquid template of the value; if omitted, the value of the first active source node, with its type"),
});

export const outputSpec = defineNode({
  title: "Output",
  group: "outputs",
  icon: "output",
  description: "What the run returns under this node's ID",
  example: { value: "Dear {{ in-0 }}, thank you for your message." },
  config,
  effect: true,
  execution: ({ value }) => (value === undefined ? "inline" : executionOfTemplate(value)),
  expressions: ({ value }) => (value === undefined ? [] : [liquid(value, "value")]),
  remembers: remembersNothing,
  // Without `value`, the type depends on the output's sources, which describeFlow looks up.
  io: { output: ({ value }) => (value === undefined ? {} : { type: "string" }) },
});
