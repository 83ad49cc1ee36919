import { scoreResultSchema } from "../../domain/evals/score-result.ts";
import { z } from "zod";
import { ValidationProblem, invalid, notFound } from "../../domain/errors.ts";
import { evaluatorInputSchema } from "../../domain/evals/evaluator.ts";
import type { EvaluatorDefinition } from "../../domain/evals/evaluator.ts";
import type { EvalSample } from "../../domain/evals/evaluators/kind.ts";
import { requireDefinition, requireEvaluator } from "../../services/evals/evaluators.ts";
import { samplesOf } from "../../services/evals/samples.ts";
import { findRowAnywhere } from "../../stores/evals/dataset-rows.ts";
import type { HandlerDeps } from "../deps.ts";
import { operationsOf } from "../http/operation.ts";
import { sampleInput, sampleOf } from "./sample-input.ts";

const body = z
  .strictObject({
    evaluator: evaluatorInputSchema.optional().describe("An evaluator to try. It does not have to be stored."),
    evaluator_id: z.uuid().optional(),
    sample: sampleInput.optional().describe("The sample to score."),
    row_id: z
      .uuid()
      .optional()
      .describe("Dataset row to score. Without `run_id`, its expected outputs are scored as the outputs."),
    run_id: z
      .uuid()
      .optional()
      .describe("Finished run to score. With `row_id`, that row supplies the expected outputs."),
  })
  .superRefine(({ evaluator, evaluator_id, sample, row_id, run_id }, context) => {
    if ((evaluator === undefined) === (evaluator_id === undefined))
      context.addIssue({
        code: "custom",
        path: ["evaluator"],
        message: "Send either evaluator or evaluator_id",
      });
    if ((sample === undefined) === (row_id === undefined && run_id === undefined))
      context.addIssue({
        code: "custom",
        path: ["sample"],
        message: "Send either sample, or row_id and/or run_id",
      });
  })
  .meta({ id: "EvaluatorPreviewCreate" });

const previewSchema = scoreResultSchema
  .extend({
    rendered_prompt: z.string().nullable().describe("The judge's prompt with all values filled in."),
    usage: z.record(z.string(), z.unknown()).nullable(),
    latency_ms: z.int(),
  })
  .meta({ id: "EvaluatorPreview" });

async function sampleFor(
  deps: HandlerDeps,
  orgId: string,
  { sample, row_id, run_id }: z.output<typeof body>,
): Promise<EvalSample> {
  if (sample !== undefined) return sampleOf(sample);
  const row =
    row_id === undefined ? null : await deps.db.org(orgId, (connection) => findRowAnywhere(connection, row_id));
  if (row_id !== undefined && row === null) throw notFound("row");
  if (run_id === undefined) {
    const { inputs = {}, expected_outputs = {}, metadata = {} } = row ?? {};
    return sampleOf({ inputs, expected_outputs, metadata, outputs: expected_outputs });
  }
  const run = (await samplesOf(deps, orgId, [run_id], true)).get(run_id.toLowerCase());
  if (run === undefined) throw notFound("finished run");
  return row === null ? run : { ...run, expected_outputs: row.expected_outputs, metadata: row.metadata };
}

const define = operationsOf({ tag: "Evaluators", auth: "secret" });

/** `/v2/evals/evaluator-previews`: the result that an evaluator would return. */
export const evaluatorPreviewOperations = [
  define({
    id: "previewEvaluator",
    audit: "never",
    route: "POST /v2/evals/evaluator-previews",
    summary: "Preview an evaluator",
    description: "Scores a sample, a dataset row or a run with an evaluator and returns the score. Nothing is stored.",
    body,
    wideBody: true,
    idempotent: true,
    problems: ["not_found"],
    examples: {
      run: {
        evaluator_id: "0197f0a0-0000-7000-8000-000000000000",
        run_id: "0197f0a0-0000-7000-8000-000000000001",
      },
      written: {
        evaluator: { type: "levenshtein" },
        sample: { outputs: { "out-0": "We open at nine" }, expected_outputs: { "out-0": "We open at ten" } },
      },
    },
    success: { 200: { description: "Preview score.", schema: previewSchema } },
    async handler({ body: asked, principal: { org_id }, signal }, deps) {
      const { db, scorer } = deps;
      const { evaluator_id = "", evaluator } = asked;
      let definition: EvaluatorDefinition;
      let secret: Buffer | null = null;
      if (evaluator === undefined)
        ({ definition, secret } = await db.org(org_id, (connection) => requireEvaluator(connection, evaluator_id)));
      else definition = await requireDefinition(deps, org_id, evaluator, ["body", "evaluator"]);
      const sample = await sampleFor(deps, org_id, asked);
      const began = Date.now();
      const [[scored] = []] = await scorer.score(org_id, [{ evaluator_id, definition, secret }], [sample], signal);
      if (scored === undefined)
        throw new ValidationProblem(invalid(["body"], "No score was produced for this sample").issues);
      const { value, passed, label, reasoning, error, rendered_prompt, usage } = scored;
      const latency_ms = Date.now() - began;
      return { status: 200, body: { value, passed, label, reasoning, error, rendered_prompt, usage, latency_ms } };
    },
  }),
];
