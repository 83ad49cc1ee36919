import { z } from "zod";
import { nodeIdSchema } from "../definition/definition.ts";
import { connectionReference, modelConfig } from "./model-choice.ts";
import { repeated } from "./repeated.ts";
import { defineNode, liquid, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  prompt: z.string().min(1).describe("Liquid: what is to be routed"),
  routes: z
    .array(
      z.strictObject({
        id: nodeIdSchema.describe("Names the handle case:<id>"),
        description: z.string().min(1).max(2000).describe("What belongs there, for the model"),
      }),
    )
    .min(1)
    .max(100)
    .describe("The model chooses one; where none fits, the handle else is taken"),
});
export type RouterConfig = z.infer<typeof config>;

export const routerSpec = defineNode({
  description: "Has a language model choose one of several ways on",
  config,
  execution: () => "activity",
  handles: ({ routes }) => [...routes.map(({ id }) => `case:${id}`), "else"],
  expressions: ({ prompt }) => [liquid(prompt, "prompt")],
  references: ({ connection_id }) => connectionReference(connection_id),
  model: ({ model, connection_id }) => ({ model, connection_id }),
  faults: ({ routes }) => repeated(routes, "routes"),
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 120_000,
  io: {
    output: ({ routes }) => ({
      type: "object",
      properties: { matched: { enum: [...routes.map(({ id }) => id), "else"] } },
      required: ["matched"],
    }),
  },
});
