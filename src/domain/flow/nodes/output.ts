import { z } from "zod";
import { liquid, NO_RETRY, ONLY_OUT, remembersNothing, type NodeSpec } from "./spec.ts";
import { executionOfTemplate } from "./template.ts";

export const outputConfig = z.strictObject({
  value: z.string().exactOptional().describe("Liquid; without it, the value of the first live source, its type kept"),
});
export type OutputConfig = z.infer<typeof outputConfig>;

export const outputSpec: NodeSpec<OutputConfig> = {
  description: "What the run returns under this node's id",
  config: outputConfig,
  effect: true,
  execution: ({ value }) => (value === undefined ? "inline" : executionOfTemplate(value)),
  handles: () => ONLY_OUT,
  expressions: ({ value }) => (value === undefined ? [] : [liquid(value, "value")]),
  remembers: remembersNothing,
  retry: NO_RETRY,
  // Without `value` the type is that of its sources: describeFlow looks them up.
  io: { output: ({ value }) => (value === undefined ? {} : { type: "string" }) },
};
