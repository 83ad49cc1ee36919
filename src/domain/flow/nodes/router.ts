import { z } from "zod";
import { listUpTo, textUpTo } from "../../schema-parts.ts";
import { nodeIdSchema } from "../definition/definition.ts";
import { connectionReference, maxTokens, modelConfig } from "./model-choice.ts";
import { caseHandles, matchedSchema, repeated } from "./repeated.ts";
import { defineNode, liquid, NETWORK_RETRY, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  ...modelConfig,
  prompt: z.string().min(1).describe("Liquid template of the text to route"),
  max_tokens: maxTokens,
  routes: listUpTo(
    100,
    z.strictObject({
      id: nodeIdSchema.describe("ID of the case; its handle is case:<id>"),
      description: textUpTo(2000).describe("Description for the model of what belongs to this route"),
    }),
  ).describe("The model chooses one route; if none fits, the handle `else`"),
});
export type RouterConfig = z.infer<typeof config>;

export const routerSpec = defineNode({
  title: "Router",
  group: "models",
  icon: "routes",
  description: "Lets a language model choose a branch",
  example: { prompt: "{{ in-0 }}", routes: [{ id: "refund", description: "The customer wants money back" }] },
  advanced: ["connection_id", "max_tokens"],
  config,
  execution: () => "activity",
  handles: ({ routes }) => caseHandles(routes),
  expressions: ({ prompt }) => [liquid(prompt, "prompt")],
  references: ({ connection_id }) => connectionReference(connection_id),
  model: ({ model, connection_id }) => ({ model, connection_id }),
  faults: ({ routes }) => repeated(routes, "routes"),
  remembers: remembersNothing,
  retry: NETWORK_RETRY,
  timeout_ms: 120_000,
  io: { output: ({ routes }) => matchedSchema(routes) },
});
