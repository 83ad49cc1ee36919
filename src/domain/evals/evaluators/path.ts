import { z } from "zod";
import type { EvaluatorKind } from "./kind.ts";

const nodeIds = z.array(z.string().min(1).max(64)).max(200);
const config = z
  .strictObject({
    ran: nodeIds.default([]).describe("Nodes that have to have run."),
    did_not_run: nodeIds.default([]).describe("Nodes that must not."),
    in_order: z.boolean().default(false).describe("The nodes of `ran` have to start in this order."),
  })
  .refine(({ ran, did_not_run }) => ran.length + did_not_run.length > 0, {
    path: ["ran"],
    message: "Name a node at least",
  });

export const path: EvaluatorKind<z.output<typeof config>> = {
  description: "Which nodes of the flow have run",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [
    {
      name: "Took the branch",
      description: "A node has run and another one has not",
      config: { ran: ["tpl-0"], did_not_run: ["tpl-1"] },
    },
  ],
  find({ ran, did_not_run, in_order }, { sample }) {
    const started = sample.nodes
      .filter((node) => node.state !== "SKIPPED" && node.state !== "PENDING")
      .map((node) => node.node_id);
    const missing = ran.filter((id) => !started.includes(id));
    const wrong = did_not_run.filter((id) => started.includes(id));
    if (missing.length > 0) return { value: false, reasoning: `Did not run: ${missing.join(", ")}` };
    if (wrong.length > 0) return { value: false, reasoning: `Ran: ${wrong.join(", ")}` };
    const places = ran.map((id) => started.indexOf(id));
    const isOrdered = places.every((place, i) => i === 0 || place > (places[i - 1] ?? -1));
    return !in_order || isOrdered ? { value: true } : { value: false, reasoning: "They ran in another order" };
  },
};
