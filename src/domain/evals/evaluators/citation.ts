import { z } from "zod";
import type { Json } from "../../json.ts";
import { EvaluatorError } from "./kind.ts";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  resources: z
    .array(z.string().min(1).max(2048))
    .min(1)
    .max(100)
    .optional()
    .describe("IDs or paths of the documents that must be cited."),
  metadata_field: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Field of the row's metadata that lists the documents instead."),
  min: z.int().min(1).max(100).default(1).describe("Minimum number of cited documents, if none are named."),
});

export const citation: EvaluatorKind<z.output<typeof config>> = {
  description: "Share of the required documents that the answer cites, 0 to 1",
  config,
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
      throw new EvaluatorError(
        "no_expected_output",
        `The metadata of the dataset row has no list ${JSON.stringify(metadata_field)}.`,
      );
    }
    const known = new Set(sample.citations.flatMap(({ resource_id, resource_path }) => [resource_id, resource_path]));
    const missing = wanted.filter((each) => !known.has(each));
    const value = 1 - missing.length / wanted.length;
    return missing.length === 0 ? { value } : { value, reasoning: `Not cited: ${missing.join(", ")}`.slice(0, 1000) };
  },
};

function listed(value: Json | undefined): string[] | undefined {
  const items = typeof value === "string" ? [value] : Array.isArray(value) ? (value as Json[]) : [];
  const texts = items.filter((each) => typeof each === "string");
  return texts.length > 0 ? texts : undefined;
}
