import { z } from "zod";
import type { ExperimentsCompared } from "../../services/evals/compare-experiments.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";
import { baselineShape } from "./experiment-presenter.ts";

const side = z
  .object({
    evaluator_version: z.int(),
    n: z.int(),
    mean: z.number().nullable(),
    pass_rate: z.number().nullable(),
    unscored: z.int(),
  })
  .nullable()
  .describe("Mean over all rows of this experiment; `null` if this evaluator does not score it.");
const number = z.number().nullable();

export const comparisonSchema = z
  .object({
    experiment_id: z.uuid(),
    with: z.uuid(),
    rows: z.object({ both: z.int(), only_here: z.int(), only_there: z.int() }),
    per_evaluator: z.array(
      z.object({ evaluator_id: z.uuid(), name: z.string(), here: side, there: side, ...baselineShape }),
    ),
    metrics: z.array(
      z.object({
        metric: z.enum(["error_rate", "p95_latency_ms", "cost_usd"]),
        here: number,
        there: number,
        diff: number,
      }),
    ),
    changed: z
      .array(
        z.object({
          evaluator_id: z.uuid(),
          row_id: z.uuid(),
          repetition: z.int(),
          run_id: z.uuid(),
          with_run_id: z.uuid(),
          number: z.number().describe("The score as a number, as it counts in the mean."),
          with_number: z.number(),
          change: z.enum(["improved", "regressed"]),
        }),
      )
      .describe("Up to 100 scores with the largest differences."),
  })
  .meta({ id: "ExperimentComparison" });

/** Example of the schema. */
export const COMPARISON: z.infer<typeof comparisonSchema> = {
  experiment_id: "0197f0a0-0000-7000-8000-000000000004",
  with: "0197f0a0-0000-7000-8000-000000000003",
  rows: { both: 3, only_here: 0, only_there: 0 },
  per_evaluator: [
    {
      evaluator_id: "0197f0a0-0000-7000-8000-000000000002",
      name: "right",
      here: { evaluator_version: 1, n: 3, mean: 1, pass_rate: 1, unscored: 0 },
      there: { evaluator_version: 1, n: 3, mean: 0.667, pass_rate: 0.667, unscored: 0 },
      n: 3,
      diff: 0.333,
      ci95: [-1.101, 1.768],
      improved: 1,
      regressed: 0,
      unchanged: 2,
    },
  ],
  metrics: [
    { metric: "error_rate", here: 0, there: 0, diff: 0 },
    { metric: "p95_latency_ms", here: 80, there: 95, diff: -15 },
    { metric: "cost_usd", here: 0.02, there: 0.03, diff: -0.01 },
  ],
  changed: [
    {
      evaluator_id: "0197f0a0-0000-7000-8000-000000000002",
      row_id: "0197f0a0-0000-7000-8000-000000000005",
      repetition: 1,
      run_id: "0197f0a0-0000-7000-8000-000000000006",
      with_run_id: "0197f0a0-0000-7000-8000-000000000007",
      number: 1,
      with_number: 0,
      change: "improved",
    },
  ],
};

export function presentComparison(
  { experiment_id }: ExperimentRow,
  other: ExperimentRow,
  { rows, per_evaluator, metrics, changed }: ExperimentsCompared,
): z.infer<typeof comparisonSchema> {
  return {
    experiment_id,
    with: other.experiment_id,
    rows: { ...rows },
    per_evaluator: per_evaluator.map(({ ci95, ...each }) => ({ ...each, ci95: ci95 && [...ci95] })),
    metrics: metrics.map(({ metric, here, there }) => ({
      metric: metric,
      here,
      there,
      diff: here === null || there === null ? null : here - there,
    })),
    changed: changed.map((each) => ({ ...each })),
  };
}
