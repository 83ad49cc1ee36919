import { scoreResultSchema } from "../../domain/evals/score-result.ts";
import { z } from "zod";
import {
  EXPERIMENT_STATES,
  JOB_KINDS,
  SHOWN_STATES,
  VERDICTS,
  gateResultSchema,
  gateSchema,
  publicState,
  resultsSchema,
  unscoredCount,
} from "../../domain/evals/experiment.ts";
import type { ExperimentStatus, GateResult } from "../../domain/evals/experiment.ts";
import type { Json } from "../../domain/json.ts";
import type { JobRow } from "../../stores/evals/experiment-jobs.ts";
import type { ScoredRow } from "../../stores/evals/experiment-results.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";
import { asDeclared } from "../http/as-declared.ts";

const object = z.record(z.string(), z.unknown());
const problem = z.object({ code: z.string(), message: z.string() }).nullable();
const budget = z.object({ max_cost_usd: z.number().nullable() }).nullable();

export const experimentSchema = z
  .object({
    experiment_id: z.uuid(),
    name: z.string(),
    description: z.string(),
    project_id: z.uuid(),
    flow_version: z.int().describe("The pinned version."),
    dataset_id: z.uuid(),
    dataset_version: z.int().describe("The pinned version."),
    splits: z.array(z.string()).nullable().describe("Splits whose rows are run; `null` means all rows."),
    evaluator_ids: z.array(z.uuid()),
    evaluators: z
      .array(z.object({ evaluator_id: z.uuid(), version: z.int() }))
      .describe("The pinned evaluator versions."),
    repetitions: z.int(),
    max_concurrency: z.int(),
    baseline_experiment_id: z.uuid().nullable(),
    gates: z.array(gateSchema),
    budget,
    state: z.enum(EXPERIMENT_STATES),
    verdict: z
      .enum(VERDICTS)
      .nullable()
      .describe("The verdict of the gates; `null` without gates, or before the experiment has finished."),
    unscored: unscoredCount
      .nullable()
      .describe(
        "Number of expected scores that are missing from the verdict; `null` before the experiment has finished.",
      ),
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
    budget: row.max_cost_usd === null ? null : { max_cost_usd: row.max_cost_usd },
    unscored: row.result?.scores.unscored ?? null,
  });
}

export const experimentStatusSchema = z
  .object({
    state: z.enum(EXPERIMENT_STATES),
    verdict: z.enum(VERDICTS).nullable(),
    unscored: unscoredCount,
    ...resultsSchema.shape,
    latency_ms: z.object({ p95: z.number().nullable() }),
    eta_seconds: z
      .int()
      .nullable()
      .describe("Estimated seconds to the end at the current rate; `null` if there is no rate yet."),
    gates: z.array(gateResultSchema),
  })
  .meta({ id: "ExperimentStatus" });
export type StatusView = z.infer<typeof experimentStatusSchema>;

export function presentStatus(
  experiment: ExperimentRow,
  status: ExperimentStatus,
  gates: readonly GateResult[],
): StatusView {
  return asDeclared(experimentStatusSchema, {
    ...status,
    state: experiment.state,
    verdict: experiment.verdict,
    unscored: status.scores.unscored,
    latency_ms: { p95: status.p95_latency_ms },
    eta_seconds: etaOf(experiment, status),
    gates,
  });
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
    outputs: object
      .nullable()
      .describe(
        "Outputs by node ID. Long values are replaced by `{$truncated: true, size}`; get the run to read them.",
      ),
    error: problem,
    latency_ms: z.number().nullable(),
    usage: z.object({ total_tokens: z.int().nullable(), cost_usd: z.number().nullable() }),
    scores: z.array(rowScoreSchema),
    baseline: z
      .object({ run_id: z.uuid().nullable(), scores: z.array(rowScoreSchema) })
      .nullable()
      .describe("The result of the same row in the baseline."),
  })
  .meta({ id: "ExperimentRow" });
export type ExperimentRowView = z.infer<typeof experimentRowSchema>;

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
    result_url: z.string().nullable().describe("URL of the exported file."),
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
    result_url: job.blob_key === null ? null : path,
  });
}
