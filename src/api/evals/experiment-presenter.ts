import { z } from "zod";
import {
  EXPERIMENT_STATES,
  JOB_KINDS,
  SHOWN_STATES,
  VERDICTS,
  gateSchema,
  publicState,
} from "../../domain/evals/experiment.ts";
import type { ExperimentStatus, GateResult } from "../../domain/evals/experiment.ts";
import type { Json } from "../../domain/json.ts";
import type { JobRow } from "../../stores/evals/experiment-jobs.ts";
import type { RowScore, ScoredRow } from "../../stores/evals/experiment-results.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";
import { asDeclared } from "../http/as-declared.ts";
import { scoreResultSchema } from "./evaluator-presenter.ts";

const object = z.record(z.string(), z.unknown());
const problem = z.object({ code: z.string(), message: z.string() }).nullable();
const unscored = z
  .int()
  .describe("Scores that there should be and that say nothing: of rows that could not be run, or not be scored.");
const budget = z.object({ max_cost_usd: z.number().nullable() }).nullable();

export const experimentSchema = z
  .object({
    experiment_id: z.uuid(),
    name: z.string(),
    description: z.string(),
    project_id: z.uuid(),
    flow_version: z.int().describe("Pinned."),
    dataset_id: z.uuid(),
    dataset_version: z.int().describe("Pinned."),
    splits: z.array(z.string()).nullable().describe("Null: all rows."),
    evaluator_ids: z.array(z.uuid()),
    evaluators: z.array(z.object({ evaluator_id: z.uuid(), version: z.int() })).describe("The versions, pinned."),
    repetitions: z.int(),
    max_concurrency: z.int(),
    baseline_experiment_id: z.uuid().nullable(),
    gates: z.array(gateSchema),
    budget,
    state: z.enum(EXPERIMENT_STATES),
    verdict: z.enum(VERDICTS).nullable().describe("The verdict of its gates; null without gates, or before the end."),
    unscored: unscored.nullable().describe("Scores that its verdict lacks; null before the end."),
    error: problem,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Experiment" });
export type ExperimentView = z.infer<typeof experimentSchema>;

export function presentExperiment(row: ExperimentRow): ExperimentView {
  return asDeclared(experimentSchema, {
    ...row,
    evaluator_ids: row.evaluators.map(({ evaluator_id }) => evaluator_id),
    evaluators: row.evaluators.map(({ evaluator_id, version }) => ({ evaluator_id, version })),
    budget: row.max_cost_usd === null ? null : { max_cost_usd: row.max_cost_usd },
    unscored: row.result?.scores.unscored ?? null,
  });
}

const interval = z
  .array(z.number())
  .length(2)
  .nullable()
  .describe("95 % confidence interval of the mean (Student's t).");

/** How the scores of the same rows differ. */
export const baselineShape = {
  n: z.int().describe("Rows that both have scored by the same version."),
  diff: z.number().nullable().describe("Mean of the differences row by row."),
  ci95: interval,
  improved: z.int(),
  regressed: z.int(),
  unchanged: z.int(),
};

export const experimentStatusSchema = z
  .object({
    state: z.enum(EXPERIMENT_STATES),
    verdict: z.enum(VERDICTS).nullable(),
    unscored,
    counts: z.object({
      rows: z.int().describe("Rows of the dataset times repetitions."),
      pending: z.int(),
      running: z.int(),
      completed: z.int(),
      failed: z.int(),
      cancelled: z.int(),
    }),
    scores: z.object({
      expected: z.int().describe("Rows times evaluators."),
      done: z.int().describe("Made, errors among them."),
      errored: z.int(),
      unscored,
    }),
    per_evaluator: z.array(
      z.object({
        evaluator_id: z.uuid(),
        evaluator_version: z.int(),
        name: z.string(),
        n: z.int().describe("Scores that count in the mean: numbers, and booleans as 1 and 0."),
        mean: z.number().nullable(),
        median: z.number().nullable(),
        stddev: z.number().nullable().describe("The standard deviation of a sample (n - 1)."),
        ci95: interval,
        pass_rate: z
          .number()
          .nullable()
          .describe("The part that passes of the scores that pass or fail; gates divide by `expected`."),
        passed: z.int(),
        errors: z.int().describe("Scores that could not be made; they are in `unscored` too."),
        expected: z.int().describe("A score of each row that has ended."),
        unscored,
        baseline: z.object(baselineShape).nullable(),
      }),
    ),
    usage: z
      .object({ total_tokens: z.int(), cost_usd: z.number() })
      .describe("The usage of runs; the cost includes judges."),
    latency_ms: z.object({ p95: z.number().nullable() }),
    eta_seconds: z.int().nullable().describe("At the rate so far; null while there is none."),
    gates: z.array(
      z.object({
        ...gateSchema.shape,
        observed: z.number().nullable(),
        passed: z
          .boolean()
          .nullable()
          .describe("Null where there is nothing to compare, or where it holds for a part of the rows alone."),
        unscored,
      }),
    ),
  })
  .meta({ id: "ExperimentStatus" });
export type StatusView = z.infer<typeof experimentStatusSchema>;

export function presentStatus(
  experiment: ExperimentRow,
  status: ExperimentStatus,
  gates: readonly GateResult[],
): StatusView {
  return {
    state: experiment.state,
    verdict: experiment.verdict,
    unscored: status.scores.unscored,
    counts: { ...status.counts },
    scores: { ...status.scores },
    per_evaluator: status.per_evaluator.map(({ ci95, baseline, ...each }) => ({
      ...each,
      ci95: ci95 && [...ci95],
      baseline: baseline && { ...baseline, ci95: baseline.ci95 && [...baseline.ci95] },
    })),
    usage: { ...status.usage },
    latency_ms: { p95: status.p95_latency_ms },
    eta_seconds: etaOf(experiment, status),
    gates: gates.map((gate) => ({ ...gate })),
  };
}

function etaOf({ state, started_at }: ExperimentRow, { counts }: ExperimentStatus): number | null {
  const left = counts.pending + counts.running;
  const done = counts.rows - left;
  if (state !== "RUNNING" || started_at === null || done === 0) return null;
  return Math.ceil((((Date.now() - Date.parse(started_at)) / done) * left) / 1000);
}

const rowScoreSchema = z.object({ evaluator_id: z.uuid(), evaluator_version: z.int(), ...scoreResultSchema.shape });

export const experimentRowSchema = z
  .object({
    row_id: z.uuid(),
    external_id: z.string().nullable(),
    repetition: z.int(),
    run_id: z.uuid().nullable(),
    state: z.enum(SHOWN_STATES),
    inputs: object,
    expected_outputs: object,
    outputs: object.nullable().describe("Long values are left to the run: `{$truncated: true, size}`."),
    error: problem,
    latency_ms: z.number().nullable(),
    usage: z.object({ total_tokens: z.int().nullable(), cost_usd: z.number().nullable() }),
    scores: z.array(rowScoreSchema),
    baseline: z
      .object({ run_id: z.uuid().nullable(), scores: z.array(rowScoreSchema) })
      .nullable()
      .describe("The same row in the baseline."),
  })
  .meta({ id: "ExperimentRow" });
export type ExperimentRowView = z.infer<typeof experimentRowSchema>;

const presentScore = (score: RowScore) => asDeclared(rowScoreSchema, score);

export function presentExperimentRow(row: ScoredRow): ExperimentRowView {
  const outputs = Object.entries(row.outputs ?? {}).map(([id, value]): [string, Json] => [
    id,
    "v" in value ? value.v : { $truncated: true, size: value.ref.size },
  ]);
  return asDeclared(experimentRowSchema, {
    ...row,
    state: publicState(row.state),
    outputs: row.outputs === null ? null : Object.fromEntries(outputs),
    usage: { total_tokens: row.tokens, cost_usd: row.cost_usd },
    scores: row.scores.map(presentScore),
    baseline: row.baseline && { run_id: row.baseline.run_id, scores: row.baseline.scores.map(presentScore) },
  });
}

export const jobSchema = z
  .object({
    job_id: z.uuid(),
    experiment_id: z.uuid(),
    kind: z.enum(JOB_KINDS),
    state: z.enum(SHOWN_STATES),
    progress: z.object({ done: z.int(), total: z.int() }),
    counts: z.object({ rows: z.int() }),
    errors: z.array(z.object({ code: z.string(), message: z.string() })),
    result_url: z.string().nullable().describe("The address of an export's file."),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "ExperimentJob" });

export function presentJob(job: JobRow): z.infer<typeof jobSchema> {
  const path = `/v2/evals/experiments/${job.experiment_id}/jobs/${job.job_id}/result`;
  return asDeclared(jobSchema, {
    ...job,
    state: publicState(job.state),
    progress: { done: job.done, total: job.total },
    counts: { rows: job.total },
    errors: job.errors.map(({ code, message }) => ({ code, message })),
    result_url: job.blob_key === null ? null : path,
  });
}
