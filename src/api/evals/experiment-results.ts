import { z } from "zod";
import {
  EXPERIMENT_STATES,
  SHOWN_STATES,
  VERDICTS,
  baselineShape,
  gateResultSchema,
  publicState,
  resultsSchema,
  unscoredCount,
  type RowState,
  type ExperimentStatus,
  type GateResult,
} from "../../domain/evals/experiment.ts";
import { experimentStatus } from "../../services/evals/experiment-status.ts";
import { gatesOf, requireExperiment } from "../../services/evals/experiments.ts";
import { compareExperiments, type ExperimentsCompared } from "../../services/evals/compare-experiments.ts";
import { listExperimentRows, type ScoredRow } from "../../stores/evals/experiment-results.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";
import type { Json } from "../../domain/json.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { asDeclared, givenId, named, namedStrict } from "../http/schemas.ts";
import { EXPERIMENT, experimentParams, problem, define } from "./experiments.ts";
import { evaluatorScoreSchema } from "./samples.ts";

const object = z.record(z.string(), z.unknown());

const experimentStatusSchema = named("ExperimentStatus", {
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
});

export type StatusView = z.infer<typeof experimentStatusSchema>;

function presentStatus(experiment: ExperimentRow, status: ExperimentStatus, gates: readonly GateResult[]): StatusView {
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

const experimentRowSchema = named("ExperimentRow", {
  row_id: z.uuid(),
  external_id: z.string().nullable(),
  repetition: z.int(),
  run_id: z.uuid().nullable(),
  state: z.enum(SHOWN_STATES),
  inputs: object,
  expected_outputs: object,
  outputs: object
    .nullable()
    .describe("Outputs by node ID. Long values are replaced by `{$truncated: true, size}`; get the run to read them."),
  error: problem,
  latency_ms: z.number().nullable(),
  usage: z.object({ total_tokens: z.int().nullable(), cost_usd: z.number().nullable() }),
  scores: z.array(evaluatorScoreSchema),
  baseline: z
    .object({ run_id: z.uuid().nullable(), scores: z.array(evaluatorScoreSchema) })
    .nullable()
    .describe("The result of the same row in the baseline."),
});

export type ExperimentRowView = z.infer<typeof experimentRowSchema>;

function presentExperimentRow(row: ScoredRow): ExperimentRowView {
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

const comparisonSchema = named("ExperimentComparison", {
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
});

/** Example of the schema. */
const COMPARISON: z.infer<typeof comparisonSchema> = {
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

function presentComparison(
  { experiment_id }: ExperimentRow,
  other: ExperimentRow,
  compared: ExperimentsCompared,
): z.infer<typeof comparisonSchema> {
  const metrics = compared.metrics.map((metric) => ({
    ...metric,
    diff: metric.here === null || metric.there === null ? null : metric.here - metric.there,
  }));
  return asDeclared(comparisonSchema, { ...compared, experiment_id, with: other.experiment_id, metrics });
}

const OTHER = "0197f0a0-0000-7000-8000-000000000003";

const compareBody = namedStrict("ExperimentCompare", {
  with: givenId.describe("Another experiment with the same rows."),
});

/** `/v2/evals/experiments/{experiment_id}/status` and `/rows`: results so far. */
export const experimentResultOperations = [
  define({
    id: "getExperimentStatus",
    route: `GET ${EXPERIMENT}/status`,
    summary: "Get an experiment's progress and scores",
    description:
      "Returns the counts of rows, scores per evaluator and gate results. While it runs, scores lag by some seconds; row counts are current.",
    params: experimentParams,
    success: { 200: { description: "The status.", schema: experimentStatusSchema } },
    async handler({ params: { experiment_id }, principal: { org_id } }, { db }) {
      return await db.org(org_id, async (connection) => {
        const experiment = await requireExperiment(connection, experiment_id);
        const status = await experimentStatus(connection, experiment);
        return {
          status: 200,
          body: presentStatus(experiment, status, await gatesOf(connection, experiment, status)),
        };
      });
    },
  }),
  define({
    id: "listExperimentRows",
    route: `GET ${EXPERIMENT}/rows`,
    summary: "List an experiment's rows",
    description:
      "Lists the rows with their runs and scores, in the order of the dataset, each once per repetition. A page of long rows can have fewer than `page_size` items; `has_more` tells whether more follow.",
    params: experimentParams,
    query: listQuery.extend({
      state: z.enum(SHOWN_STATES).optional(),
      row_id: givenId.optional(),
    }),
    success: { 200: { description: "A page of rows.", schema: pageOf(experimentRowSchema) } },
    async handler({ params: { experiment_id }, query, principal: { org_id } }, { db, reads }) {
      await db.org(org_id, (connection) => requireExperiment(connection, experiment_id));
      const state = query.state === undefined ? null : (query.state.toLowerCase() as RowState);
      const search = { state, row_id: query.row_id ?? null };
      return listPage("experiment-rows", org_id, query, {
        filters: { experiment_id, ...search },
        fetch: (keyset) =>
          reads.org(org_id, (connection) => listExperimentRows(connection, experiment_id, search, keyset)),
        idOf: (row) => String(row.place),
        isId: (text) => /^\d{1,9}$/.test(text),
        present: presentExperimentRow,
        longRows: true,
      });
    },
  }),
  define({
    id: "compareExperiments",
    audit: "never",
    route: `POST ${EXPERIMENT}/compare`,
    summary: "Compare two experiments",
    description:
      "Compares an experiment with any other, at any time. Nothing is stored. Compares the same rows in the same repetition, if the same evaluator version has scored both. A difference is this experiment's score minus the other's.",
    // This operation only reads.
    role: "viewer",
    params: experimentParams,
    body: compareBody,
    examples: { before: { with: OTHER } },
    success: { 200: { description: "The comparison.", schema: comparisonSchema, example: COMPARISON } },
    async handler({ params: { experiment_id }, body, principal: { org_id } }, { db }) {
      return await db.org(org_id, async (connection) => {
        const experiment = await requireExperiment(connection, experiment_id);
        const other = await requireExperiment(connection, body.with);
        const compared = await compareExperiments(connection, experiment, other);
        return { status: 200, body: presentComparison(experiment, other, compared) };
      });
    },
  }),
];
