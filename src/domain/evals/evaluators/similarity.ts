import { z } from "zod";
import type { EvaluatorKind } from "./kind.ts";

const config = z.strictObject({
  value: z.string().min(1).max(100_000).optional().describe("Text to compare with. Default: the expected output."),
  embedding_model: z
    .string()
    .min(1)
    .max(200)
    .default("local")
    .describe("Embedding model: `local`, or a model of the installation's embeddings endpoint."),
});
export type SimilarityConfig = z.output<typeof config>;

export const similarity: EvaluatorKind<SimilarityConfig> = {
  description: "Similarity in meaning to the expected output: the cosine of their embeddings",
  config,
  score: { data_type: "numeric", direction: "maximize", pass_threshold: 0.8 },
  templates: [{ name: "Same meaning", description: "Similarity in meaning by the local embedding model", config: {} }],
};
