import { z } from "zod";
import { scoreResultSchema } from "../../domain/evals/score-result.ts";
import type { EvalSample } from "../../domain/evals/evaluators/kind.ts";
import type { JsonObject } from "../../domain/json.ts";
import { namedStrict } from "../http/schemas.ts";

/** The result of one evaluator, where several score a sample. */
export const evaluatorScoreSchema = z.object({
  evaluator_id: z.uuid(),
  evaluator_version: z.int(),
  ...scoreResultSchema.shape,
});

const values = z.record(z.string(), z.json()).default({});
const MAX_PASSAGES = 200;

/** A sample given in full, of a run that Millrace need not know. */
export const sampleInput = namedStrict("EvalSample", {
  inputs: values,
  outputs: values,
  expected_outputs: values,
  metadata: values,
  passages: z
    .array(
      z.strictObject({
        text: z.string().max(100_000),
        resource_path: z.string().max(2048).nullish(),
        resource_id: z.string().max(2048).nullish(),
        score: z.number().nullish(),
      }),
    )
    .max(MAX_PASSAGES)
    .default([])
    .describe("The chunks retrieved for the answer."),
  citations: z
    .array(z.strictObject({ resource_id: z.string().max(2048), resource_path: z.string().max(2048) }))
    .max(MAX_PASSAGES)
    .default([]),
  usage: values,
  latency_ms: z.number().min(0).nullish(),
  cost_usd: z.number().min(0).nullish(),
  error: z
    .strictObject({ code: z.string().max(200), message: z.string().max(4000) })
    .nullish()
    .describe("Why there is no answer. The sample is scored as a failed run."),
});
type Values = "inputs" | "outputs" | "expected_outputs" | "metadata" | "usage";
type Given = Omit<z.output<typeof sampleInput>, Values> & { readonly [Name in Values]: JsonObject };

/** A sample in the form that evaluators see. */
export function sampleOf(given: Partial<Given>): EvalSample {
  const { inputs = {}, outputs = {}, expected_outputs = {}, metadata = {}, usage = {}, error = null } = given;
  return {
    run_id: null,
    state: error === null ? "COMPLETED" : "FAILED",
    inputs,
    outputs,
    expected_outputs,
    metadata,
    usage,
    error,
    latency_ms: given.latency_ms ?? null,
    cost_usd: given.cost_usd ?? null,
    nodes: [],
    citations: given.citations ?? [],
    detail: {
      nodes: {},
      passages: (given.passages ?? []).map(({ text, resource_path = null, resource_id = null, score = null }) => ({
        path: "",
        resource_id,
        resource_path,
        text,
        score,
      })),
    },
  };
}
