import { z } from "zod";
import { nodeIdSchema } from "../definition/definition.ts";
import { cel, defineNode, remembersNothing } from "./spec.ts";
import { repeated } from "./repeated.ts";

const config = z.strictObject({
  cases: z
    .array(
      z.strictObject({ id: nodeIdSchema.describe("Names the handle case:<id>"), when: z.string().describe("CEL") }),
    )
    .min(1)
    .max(100)
    .describe("The first that holds is taken; without one, the handle else"),
});

export const conditionSpec = defineNode({
  description: "Chooses one of several ways on",
  config,
  execution: () => "inline",
  handles: ({ cases }) => [...cases.map(({ id }) => `case:${id}`), "else"],
  expressions: ({ cases }) => cases.map(({ when }, index) => cel(when, "cases", index, "when")),
  faults: ({ cases }) => repeated(cases, "cases"),
  remembers: remembersNothing,
  io: {
    output: ({ cases }) => ({
      type: "object",
      properties: { matched: { enum: [...cases.map(({ id }) => id), "else"] } },
      required: ["matched"],
    }),
  },
});
