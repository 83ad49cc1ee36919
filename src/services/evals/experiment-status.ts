import { confidenceInterval } from "../../domain/evals/statistics.ts";
import {
  ROW_STATES,
  isActive,
  type BaselineComparison,
  type EvaluatorStatus,
  type ExperimentStatus,
  type RowState,
} from "../../domain/evals/experiment.ts";
import type { Db } from "../../stores/db.ts";
import { pinnedEvaluators } from "../../stores/evals/evaluators.ts";
import {
  compareRows,
  countRows,
  countStates,
  summarise,
  type Difference,
} from "../../stores/evals/experiment-results.ts";
import type { ExperimentRow } from "../../stores/evals/experiments.ts";

/** The status of an experiment. Scores of a running one are a few seconds old. */
export async function experimentStatus(db: Db, experiment: ExperimentRow): Promise<ExperimentStatus> {
  const { state, result, progress, experiment_id } = experiment;
  if (!isActive(state)) return result ?? (await statusOf(db, experiment));
  if (progress === null) return await statusOf(db, experiment);
  return { ...progress, counts: countsOf(await countStates(db, experiment_id)) };
}

function countsOf(states: ReadonlyArray<{ readonly state: RowState; readonly n: number }>): ExperimentStatus["counts"] {
  const byState = Object.fromEntries(
    ROW_STATES.map((state) => [state, states.find((row) => row.state === state)?.n ?? 0]),
  );
  return { rows: states.reduce((sum, { n }) => sum + n, 0), ...(byState as Record<RowState, number>) };
}

const NO_SCORES = { n: 0, mean: null, median: null, stddev: null, errors: 0, said: 0, passed: 0, judged: 0 };

/** The progress of an experiment, counted from its rows and their scores. */
export async function statusOf(db: Db, experiment: ExperimentRow): Promise<ExperimentStatus> {
  const { experiment_id, baseline_experiment_id } = experiment;
  const { counts, p95, cost_usd, tokens, unrun } = await countRows(db, experiment_id);
  const { rows, ...states } = countsOf(counts);
  const expected = states.completed + states.failed + states.cancelled;
  const summaries = await summarise(db, experiment_id);
  const differences =
    baseline_experiment_id === null ? null : await compareRows(db, experiment_id, baseline_experiment_id);
  const pinned = await pinnedEvaluators(db, experiment.evaluators);
  const per_evaluator = pinned.map(({ evaluator_id, version, name, definition }): EvaluatorStatus => {
    const found = summaries.find((each) => each.evaluator_id === evaluator_id && each.evaluator_version === version);
    const { n, mean, median, stddev, errors, said, passed, judged } = found ?? NO_SCORES;
    const difference = differences?.find((each) => each.evaluator_id === evaluator_id);
    return {
      evaluator_id,
      evaluator_version: version,
      name,
      n,
      mean,
      median,
      stddev,
      ci95: confidenceInterval({ n, mean, stddev }),
      pass_rate: judged === 0 ? null : passed / judged,
      passed,
      errors,
      expected,
      // Rows are scored before they end, so there may temporarily be more scores than expected.
      unscored: Math.max(0, expected - said),
      baseline: differences === null ? null : comparison(difference, definition.score.direction),
    };
  });
  const done = summaries.reduce((sum, { said, errors }) => sum + said + errors, 0);
  const judges = summaries.reduce((sum, { judge_cost_usd }) => sum + judge_cost_usd, 0);
  return {
    counts: { rows, ...states },
    scores: {
      expected: rows * experiment.evaluators.length,
      done,
      errored: summaries.reduce((sum, { errors }) => sum + errors, 0),
      unscored: per_evaluator.reduce((sum, { unscored }) => sum + unscored, 0),
    },
    per_evaluator,
    usage: { total_tokens: tokens, cost_usd: cost_usd + judges },
    p95_latency_ms: p95,
    unrun,
  };
}

export function comparison(
  found: Omit<Difference, "evaluator_id"> | undefined,
  direction: "maximize" | "minimize",
): BaselineComparison {
  if (found === undefined) return { n: 0, diff: null, ci95: null, improved: 0, regressed: 0, unchanged: 0 };
  const { n, diff, stddev, higher, lower, same } = found;
  const [improved, regressed] = direction === "maximize" ? [higher, lower] : [lower, higher];
  return { n, diff, ci95: confidenceInterval({ n, mean: diff, stddev }), improved, regressed, unchanged: same };
}
