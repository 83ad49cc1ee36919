import { z } from "zod";
import type { Json } from "../../json.ts";
import { listUpTo, textUpTo, wholeNumber } from "../../schema-parts.ts";
import { defineEvaluator, EvaluatorError } from "./kind.ts";

export const latency = defineEvaluator({
  description: "Duration of the run in ms; pass_threshold is the maximum allowed",
  config: z.strictObject({}),
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Latency", description: "Duration of the run in ms", config: {} }],
  find(_, { sample: { latency_ms } }) {
    if (latency_ms === null) throw new EvaluatorError("no_latency", "The run has not started, so it has no latency.");
    return { value: latency_ms };
  },
});

export const cost = defineEvaluator({
  description: "Cost of the run's model calls in US dollars; pass_threshold is the maximum allowed",
  config: z.strictObject({}),
  score: { data_type: "numeric", direction: "minimize", pass_threshold: null },
  templates: [{ name: "Cost", description: "Cost of the run in US dollars", config: {} }],
  find(_, { sample: { cost_usd } }) {
    if (cost_usd === null)
      throw new EvaluatorError("no_cost", "The cost is not known: a model that was called has no price.");
    return { value: cost_usd };
  },
});

export const errorFree = defineEvaluator({
  description: "The run completed without an error",
  config: z.strictObject({
    nodes: z.boolean().default(false).describe("Also counts errors of nodes that did not fail the run."),
  }),
  templates: [{ name: "No error", description: "The run completed", config: {} }],
  find({ nodes }, { sample: { state, error, ...sample } }) {
    if (state !== "COMPLETED") {
      const reasoning = error === null ? `The run is ${state}` : `${error.code}: ${error.message}`.slice(0, 1000);
      return { value: false, reasoning };
    }
    const failed = nodes ? sample.nodes.filter((node) => node.state === "FAILED").map((node) => node.node_id) : [];
    return failed.length === 0
      ? { value: true }
      : { value: false, reasoning: `Failed: ${failed.slice(0, 20).join(", ")}` };
  },
});

const nodeIds = z.array(textUpTo(64)).max(200);

export const path = defineEvaluator({
  description: "Which nodes of the flow ran",
  config: z
    .strictObject({
      ran: nodeIds.default([]).describe("Nodes that must have run."),
      did_not_run: nodeIds.default([]).describe("Nodes that must not have run."),
      in_order: z.boolean().default(false).describe("Whether the nodes of `ran` must have started in the given order."),
    })
    .refine(({ ran, did_not_run }) => ran.length + did_not_run.length > 0, {
      path: ["ran"],
      message: "Name at least one node",
    }),
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
});

export const citation = defineEvaluator({
  description: "Share of the required documents that the answer cites, 0 to 1",
  config: z.strictObject({
    resources: listUpTo(100, textUpTo(2048)).optional().describe("IDs or paths of the documents that must be cited."),
    metadata_field: textUpTo(200).optional().describe("Field of the row's metadata that lists the documents instead."),
    min: wholeNumber(1, 100).default(1).describe("Minimum number of cited documents, if none are named."),
  }),
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 1 },
  templates: [
    { name: "Cites something", description: "The answer cites at least one document", config: {} },
    {
      name: "Cites what it should",
      description: "The answer cites the documents listed in the row's metadata",
      config: { metadata_field: "resources" },
    },
  ],
  find({ resources, metadata_field, min }, { sample }) {
    const cited = new Set(sample.citations.map(({ resource_id }) => resource_id));
    const wanted = resources ?? (metadata_field === undefined ? undefined : listed(sample.metadata[metadata_field]));
    if (wanted === undefined) {
      if (metadata_field === undefined)
        return { value: Math.min(1, cited.size / min), reasoning: `${cited.size} cited` };
      const message = `The metadata of the dataset row has no list ${JSON.stringify(metadata_field)}.`;
      throw new EvaluatorError("no_expected_output", message);
    }
    const known = new Set(sample.citations.flatMap(({ resource_id, resource_path }) => [resource_id, resource_path]));
    const missing = wanted.filter((each) => !known.has(each));
    const value = 1 - missing.length / wanted.length;
    return missing.length === 0 ? { value } : { value, reasoning: `Not cited: ${missing.join(", ")}`.slice(0, 1000) };
  },
});

function listed(value: Json | undefined): string[] | undefined {
  const items = typeof value === "string" ? [value] : Array.isArray(value) ? (value as Json[]) : [];
  const texts = items.filter((each) => typeof each === "string");
  return texts.length > 0 ? texts : undefined;
}
