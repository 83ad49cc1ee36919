import { z } from "zod";
import { defineNode, liquid, remembersNothing } from "./spec.ts";
import { executionOfTemplate } from "./template.ts";

const config = z.strictObject({
  value: z.string().exactOptional().describe("Liquid; without it, the value of the first live source, its type kept"),
});

export const outputSpec = defineNode({
  description: "What the run returns under this node's id",
  config,
  effect: true,
  execution: ({ value }) => (value === undefined ? "inline" : executionOfTemplate(value)),
  expressions: ({ value }) => (value === undefined ? [] : [liquid(value, "value")]),
  remembers: remembersNothing,
  // Without `value` the type is that of its sources: describeFlow looks them up.
  io: { output: ({ value }) => (value === undefined ? {} : { type: "string" }) },
});
