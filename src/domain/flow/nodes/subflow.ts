import { z } from "zod";
import { nodeIdSchema } from "../definition/definition.ts";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  project_id: z.string().min(1).max(64).describe("The project whose flow is run"),
  version: z
    .int()
    .min(-1)
    .refine((version) => version !== 0, "Versions count from 1; -1 is the published one")
    .default(-1)
    .describe("A version of that flow; -1 is the one published when the node runs"),
  inputs: z.record(nodeIdSchema, z.string()).default({}).describe("Input node of that flow to CEL"),
});

export const subflowSpec = defineNode({
  description: "Runs another project's flow and waits for its outputs",
  config,
  effect: true,
  execution: () => "workflow",
  expressions: ({ inputs }) => Object.entries(inputs).map(([id, source]) => cel(source, "inputs", id)),
  references: ({ project_id, version }) => [
    { kind: "project", id: project_id.toLowerCase(), version, path: ["project_id"] },
  ],
  remembers: remembersNothing,
  io: { output: () => ({ type: "object" }) },
});
