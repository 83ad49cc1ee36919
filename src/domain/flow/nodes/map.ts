import { z } from "zod";
import { cel, defineNode, remembersNothing } from "./spec.ts";

const config = z.strictObject({
  items: z.string().describe("CEL expression that returns a list"),
  max_concurrency: z.int().min(1).max(100).default(10).describe("Number of items processed at the same time"),
  on_item_error: z
    .enum(["fail", "skip", "collect"])
    .default("fail")
    .describe(
      "What a failed item does: `fail` fails the node, `skip` omits the item, `collect` puts its error in the list",
    ),
});

/** The entry of a failed item, if errors are collected. */
const FAILED_ITEM = {
  type: "object",
  properties: { error: { type: "object", properties: { code: { type: "string" }, message: { type: "string" } } } },
};

export const mapSpec = defineNode({
  title: "For each",
  group: "logic",
  icon: "list",
  description: "Runs a nested flow for every item of a list; expressions inside can use item and index",
  example: { items: 'nodes["in-0"].split(",")', max_concurrency: 5 },
  advanced: ["max_concurrency", "on_item_error"],
  config,
  nested: true,
  inside: ["item", "index"],
  effect: true,
  execution: () => "workflow",
  expressions: ({ items }) => [cel(items, "items")],
  remembers: remembersNothing,
  io: {
    output: () => ({ type: "array" }),
    repeated: ({ on_item_error }, iteration) => ({
      type: "array",
      items: on_item_error === "collect" ? { anyOf: [iteration, FAILED_ITEM] } : iteration,
    }),
  },
});
