import { z } from "zod";
import type { EvaluatorKind } from "./kind.ts";

const nodeIds = z.array(z.string().min(1).max(64)).max(200);
const config = z
  .strictObject({
    ran: nodeIds.default([]).describe("Nodes that must have run."),
    did_not_run: nodeIds.default([]).describe("Nodes that must not have run."),
    in_order: z.boolean().default(false).describe("Whether the nodes of `ran` must have started in the given order."),
  })
  .refine(({ ran, did_not_run }) => ran.length + did_not_run.length > 0, {
    path: ["ran"],
    message: "Name at least one node",
  });

export const path: EvaluatorKind<z.output<typeof config>> = {
  description: "Which nodes of the flow ran",
  config,
  score: { data_type: "boolean", direction: "maximize", pass_threshold: null },
  templates: [
    {
      name: "Took the branch",
      description: "One node ran and another did not",
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
    return !in_order || isOrdered ? { value: true } : { value: false, reasoning: "The nodes ran in a different order" };
  },
};
