import { z } from "zod";
import { invalid, notFound } from "../../domain/errors.ts";
import { numberOf, scoreResultSchema } from "../../domain/evals/score-result.ts";
import { requireEvaluator, requireDefinition } from "../../services/evals/evaluators.ts";
import { addedUp } from "../../services/evals/judge.ts";
import type { Scored } from "../../services/evals/scorer.ts";
import { findRowAnywhere } from "../../stores/evals/dataset-rows.ts";
import type { EvaluatorRow } from "../../stores/evals/evaluators.ts";
import { evaluatorInputSchema, type EvaluatorDefinition } from "../../domain/evals/evaluator.ts";
import type { EvalSample } from "../../domain/evals/evaluators/kind.ts";
import { samplesOf } from "../../services/evals/samples.ts";
import { operationsOf } from "../http/operation.ts";
import { givenId as id, named, namedStrict, asDeclared } from "../http/schemas.ts";
import type { HandlerDeps } from "../deps.ts";
import { sampleInput, sampleOf, evaluatorScoreSchema } from "./samples.ts";

const MAX_SAMPLES = 100;
const MAX_EVALUATORS = 10;
const EVALUATOR = "0197f0a0-0000-7000-8000-000000000002";

const body = namedStrict("ScoringCreate", {
  evaluator_ids: z
    .array(id)
    .min(1)
    .max(MAX_EVALUATORS)
    .describe("Evaluators to score with, in their current versions."),
  samples: z
    .array(
      sampleInput.extend({
        external_id: z.string().min(1).max(512).nullish().describe("Your own ID for the sample; it is returned."),
        row_id: id
          .optional()
          .describe("Dataset row that supplies inputs, expected outputs and metadata that the sample omits."),
      }),
    )
    .min(1)
    .max(MAX_SAMPLES),
});

const scoringSchema = named("Scoring", {
  data: z.array(
    z.object({
      external_id: z.string().nullable(),
      row_id: z.uuid().nullable(),
      scores: z.array(evaluatorScoreSchema),
    }),
  ),
  per_evaluator: z.array(
    z.object({
      evaluator_id: z.uuid(),
      evaluator_version: z.int(),
      name: z.string(),
      n: z.int().describe("Number of scores in the mean."),
      mean: z.number().nullable(),
      pass_rate: z.number().nullable().describe("Share of passes among the scores that pass or fail."),
      passed: z.int(),
      expected: z.int(),
      unscored: z.int().describe("Number of samples that could not be scored."),
    }),
  ),
  usage: z.record(z.string(), z.number()).describe("Model usage of the evaluators that are judges."),
});

const FOUND = { evaluator_id: EVALUATOR, evaluator_version: 1, label: null, reasoning: null };
const SCORED: z.infer<typeof scoringSchema> = {
  data: [
    { external_id: "a-1", row_id: null, scores: [{ ...FOUND, value: true, passed: true, error: null }] },
    {
      external_id: "a-2",
      row_id: null,
      scores: [
        {
          ...FOUND,
          value: null,
          passed: null,
          error: { code: "no_output", message: "There is nothing to score: the run is FAILED." },
        },
      ],
    },
  ],
  per_evaluator: [
    {
      evaluator_id: EVALUATOR,
      evaluator_version: 1,
      name: "says",
      n: 1,
      mean: 1,
      pass_rate: 1,
      passed: 1,
      expected: 2,
      unscored: 1,
    },
  ],
  usage: {},
};

const define = operationsOf({ tag: "Run scores", auth: "secret" });

/** `/v2/evals/scorings`: evaluators' scores of outputs that were made elsewhere. */
export const scoringOperations = [
  define({
    id: "scoreSamples",
    route: "POST /v2/evals/scorings",
    summary: "Score external outputs",
    description: `Scores up to ${MAX_SAMPLES} samples with up to ${MAX_EVALUATORS} evaluators. Nothing is stored: save the returned scores with your outputs.`,
    body,
    idempotent: true,
    problems: ["not_found"],
    examples: {
      answers: {
        evaluator_ids: [EVALUATOR],
        samples: [
          { external_id: "a-1", outputs: { answer: "We open at nine." }, expected_outputs: { answer: "nine" } },
          { external_id: "a-2", outputs: {}, error: { code: "timeout", message: "No answer within 30 s" } },
        ],
      },
    },
    success: {
      200: { description: "The scores, in the order of the samples.", schema: scoringSchema, example: SCORED },
    },
    async handler({ body: { evaluator_ids, samples }, principal: { org_id }, signal }, { db, scorer }) {
      const { evaluators, rows } = await db.org(org_id, async (connection) => {
        const found: EvaluatorRow[] = [];
        for (const each of new Set(evaluator_ids)) found.push(await requireEvaluator(connection, each));
        const named = new Map<string, Awaited<ReturnType<typeof findRowAnywhere>>>();
        for (const { row_id } of samples)
          if (row_id !== undefined && !named.has(row_id)) named.set(row_id, await findRowAnywhere(connection, row_id));
        return { evaluators: found, rows: named };
      });
      const whole = samples.map(({ external_id: _external, row_id, ...sample }) => {
        const row = row_id === undefined ? undefined : rows.get(row_id);
        if (row === null) throw notFound("row");
        const has = (values: object): boolean => Object.keys(values).length > 0;
        return sampleOf({
          ...sample,
          inputs: row === undefined || has(sample.inputs) ? sample.inputs : row.inputs,
          expected_outputs:
            row === undefined || has(sample.expected_outputs) ? sample.expected_outputs : row.expected_outputs,
          metadata: row === undefined || has(sample.metadata) ? sample.metadata : row.metadata,
        });
      });
      const scored = await scorer.score(org_id, evaluators, whole, signal);
      const usages = scored.flat().flatMap(({ usage }) => (usage === null ? [] : [usage]));
      return {
        status: 200,
        body: {
          data: samples.map(({ external_id, row_id }, index) => ({
            external_id: external_id ?? null,
            row_id: row_id ?? null,
            scores: evaluators.map(({ evaluator_id, version }, place) => ({
              evaluator_id,
              evaluator_version: version,
              ...presentResult(scored[index]?.[place]),
            })),
          })),
          per_evaluator: evaluators.map((evaluator, place) =>
            summaryOf(
              evaluator,
              scored.flatMap((ofSample) => ofSample[place] ?? []),
            ),
          ),
          usage: addedUp(usages) ?? {},
        },
      };
    },
  }),
];

function presentResult(scored: Scored | undefined): z.infer<typeof scoreResultSchema> {
  const { value = null, passed = null, label = null, reasoning = null, error = null } = scored ?? {};
  return { value, passed, label, reasoning, error };
}

function summaryOf({ evaluator_id, version, name }: EvaluatorRow, scores: readonly Scored[]) {
  const numbers = scores.flatMap((score) => numberOf(score) ?? []);
  const judged = scores.filter(({ passed }) => passed !== null);
  const passed = judged.filter((score) => score.passed).length;
  return {
    evaluator_id,
    evaluator_version: version,
    name,
    n: numbers.length,
    mean: numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length,
    pass_rate: judged.length === 0 ? null : passed / judged.length,
    passed,
    expected: scores.length,
    unscored: scores.filter(({ error }) => error !== null).length,
  };
}

const previewBody = z
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
  .refine(({ evaluator, evaluator_id }) => (evaluator === undefined) !== (evaluator_id === undefined), {
    path: ["evaluator"],
    message: "Send either evaluator or evaluator_id",
  })
  .refine(({ sample, row_id, run_id }) => (sample === undefined) !== (row_id === undefined && run_id === undefined), {
    path: ["sample"],
    message: "Send either sample, or row_id and/or run_id",
  })
  .meta({ id: "EvaluatorPreviewCreate" });

const previewSchema = named("EvaluatorPreview", {
  ...scoreResultSchema.shape,
  rendered_prompt: z.string().nullable().describe("The judge's prompt with all values filled in."),
  usage: z.record(z.string(), z.unknown()).nullable(),
  latency_ms: z.int(),
});

async function sampleFor(
  deps: HandlerDeps,
  orgId: string,
  { sample, row_id, run_id }: z.output<typeof previewBody>,
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

/** `/v2/evals/evaluator-previews`: the result that an evaluator would return. */
export const evaluatorPreviewOperations = [
  operationsOf({ tag: "Evaluators", auth: "secret" })({
    id: "previewEvaluator",
    audit: "never",
    route: "POST /v2/evals/evaluator-previews",
    summary: "Preview an evaluator",
    description: "Scores a sample, a dataset row or a run with an evaluator and returns the score. Nothing is stored.",
    body: previewBody,
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
      if (scored === undefined) throw invalid(["body"], "No score was produced for this sample");
      return { status: 200, body: asDeclared(previewSchema, { ...scored, latency_ms: Date.now() - began }) };
    },
  }),
];
