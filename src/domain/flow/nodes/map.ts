import { z } from "zod";
import { cel, NO_RETRY, ONLY_OUT, remembersNothing, type NodeSpec } from "./spec.ts";

export const mapConfig = z.strictObject({
  items: z.string().describe("CEL that yields a list"),
  max_concurrency: z.int().min(1).max(100).default(10).describe("Items under way at once"),
  on_item_error: z
    .enum(["fail", "skip", "collect"])
    .default("fail")
    .describe("What a failed item does: it fails the node, is left out, or stands in the list as its error"),
});
/** Without `flow`: the nested flow is in `PlanNode.nested`. */
export type MapConfig = z.infer<typeof mapConfig>;

export const mapSpec: NodeSpec<MapConfig> = {
  description: "Runs a nested flow for every item of a list; inside, expressions see item and index",
  config: mapConfig,
  nested: true,
  effect: true,
  execution: () => "workflow",
  handles: () => ONLY_OUT,
  expressions: ({ items }) => [cel(items, "items")],
  remembers: remembersNothing,
  retry: NO_RETRY,
  io: { output: () => ({ type: "array" }) },
};
