import { z } from "zod";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  items: z.string().describe("CEL that yields a list"),
  max_concurrency: z.int().min(1).max(100).default(10).describe("Items under way at once"),
  on_item_error: z
    .enum(["fail", "skip", "collect"])
    .default("fail")
    .describe("What a failed item does: it fails the node, is left out, or stands in the list as its error"),
});

export const mapSpec = defineNode({
  description: "Runs a nested flow for every item of a list; inside, expressions see item and index",
  config,
  nested: true,
  effect: true,
  execution: () => "workflow",
  expressions: ({ items }) => [cel(items, "items")],
  remembers: remembersNothing,
  io: { output: () => ({ type: "array" }) },
});
