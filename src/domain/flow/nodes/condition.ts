import { z } from "zod";
import { nodeIdSchema } from "../definition/definition.ts";
import { cel, defineNode, remembersNothing } from "./spec.ts";
import { repeated } from "./repeated.ts";

const config = z.strictObject({
  cases: z
    .array(
      z.strictObject({
        id: nodeIdSchema.describe("ID of the case; its handle is case:<id>"),
        when: z.string().describe("CEL condition"),
      }),
    )
    .min(1)
    .max(100)
    .describe("The first case that is true is chosen; if none is, the handle `else`"),
});

export const conditionSpec = defineNode({
  title: "Condition",
  group: "logic",
  icon: "branch",
  description: "Chooses a branch by conditions",
  example: { cases: [{ id: "large", when: 'double(nodes["in-0"]) > 1000.0' }] },
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
