import { z } from "zod";
import { nodeIdSchema } from "../definition/definition.ts";
import { ONE_VERSION, callReferences, calledFlow, hasOneVersion } from "./called-flow.ts";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z
  .strictObject({
    project_id: z.string().min(1).max(64).describe("ID of the project whose flow is run"),
    ...calledFlow,
    inputs: z
      .record(nodeIdSchema, z.string())
      .default({})
      .describe("Inputs of that flow: input node ID to CEL expression"),
  })
  .refine(hasOneVersion, ONE_VERSION);

export const subflowSpec = defineNode({
  title: "Subflow",
  group: "logic",
  icon: "flow",
  description: "Runs another project's flow and waits for its outputs",
  example: { project_id: "0197f0a0-5e1f-7000-8000-000000000000", inputs: { "in-0": 'nodes["in-0"]' } },
  config,
  effect: true,
  execution: () => "workflow",
  expressions: ({ inputs }) => Object.entries(inputs).map(([id, source]) => cel(source, "inputs", id)),
  references: (call) => callReferences(call),
  remembers: remembersNothing,
  io: { output: () => ({ type: "object" }), outputOf: "project" },
});
