import { z } from "zod";
import { listUpTo } from "../../schema-parts.ts";
import { nodeIdSchema } from "../definition/definition.ts";
import { cel, defineNode, remembersNothing } from "./spec.ts";
import { caseHandles, matchedSchema, repeated } from "./repeated.ts";

const config = z.strictObject({
  cases: listUpTo(
    100,
    z.strictObject({
      id: nodeIdSchema.describe("ID of the case; its handle is case:<id>"),
      when: z.string().describe("CEL condition"),
    }),
  ).describe("The first case that is true is chosen; if none is, the handle `else`"),
});

export const conditionSpec = defineNode({
  title: "Condition",
  group: "logic",
  icon: "branch",
  description: "Chooses a branch by conditions",
  example: { cases: [{ id: "large", when: 'double(nodes["in-0"]) > 1000.0' }] },
  config,
  execution: () => "inline",
  handles: ({ cases }) => caseHandles(cases),
  expressions: ({ cases }) => cases.map(({ when }, index) => cel(when, "cases", index, "when")),
  faults: ({ cases }) => repeated(cases, "cases"),
  remembers: remembersNothing,
  io: { output: ({ cases }) => matchedSchema(cases) },
});
