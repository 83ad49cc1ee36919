import { z } from "zod";
import { nodeIdSchema } from "../definition/definition.ts";
import { cel, NO_RETRY, remembersNothing, type NodeSpec } from "./spec.ts";
import { repeated } from "./repeated.ts";

export const conditionConfig = z.strictObject({
  cases: z
    .array(
      z.strictObject({ id: nodeIdSchema.describe("Names the handle case:<id>"), when: z.string().describe("CEL") }),
    )
    .min(1)
    .max(100)
    .describe("The first that holds is taken; without one, the handle else"),
});
export type ConditionConfig = z.infer<typeof conditionConfig>;

export const conditionSpec: NodeSpec<ConditionConfig> = {
  description: "Chooses one of several ways on",
  config: conditionConfig,
  execution: () => "inline",
  handles: ({ cases }) => [...cases.map(({ id }) => `case:${id}`), "else"],
  expressions: ({ cases }) => cases.map(({ when }, index) => cel(when, "cases", index, "when")),
  faults: ({ cases }) => repeated(cases, "cases"),
  remembers: remembersNothing,
  retry: NO_RETRY,
  io: {
    output: ({ cases }) => ({
      type: "object",
      properties: { matched: { enum: [...cases.map(({ id }) => id), "else"] } },
      required: ["matched"],
    }),
  },
};
