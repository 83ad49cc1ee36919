import {
  errorRateOf,
  type BaselineComparison,
  type EvaluatorStatus,
  type ExperimentStatus,
  type Gate,
} from "../../domain/evals/experiment.ts";
import type { Db } from "../../stores/db.ts";
import { pinnedEvaluators } from "../../stores/evals/evaluators.ts";
import { changedScores, compareRows, countPairs, type ChangedScore } from "../../stores/evals/experiment-results.ts";
import { comparableExperiments, type ExperimentRow, type CompletedExperiment } from "../../stores/evals/experiments.ts";
import { comparison, experimentStatus } from "./experiment-status.ts";

/** Most differing scores that are listed individually. */
const NAMED = 100;

/** One experiment's result of an evaluator. */
type Side = Pick<EvaluatorStatus, "evaluator_version" | "n" | "mean" | "pass_rate" | "unscored">;

interface ComparedEvaluator extends BaselineComparison {
  readonly evaluator_id: string;
  readonly name: string;
  /** Null if the evaluator does not score the experiment. */
  readonly here: Side | null;
  readonly there: Side | null;
}

export interface ExperimentsCompared {
  readonly rows: { readonly both: number; readonly only_here: number; readonly only_there: number };
  readonly per_evaluator: readonly ComparedEvaluator[];
  readonly metrics: ReadonlyArray<{
    readonly metric: Exclude<Gate["metric"], "pass_rate" | "mean">;
    readonly here: number | null;
    readonly there: number | null;
  }>;
  readonly changed: ReadonlyArray<ChangedScore & { readonly change: "improved" | "regressed" }>;
}

/**
 * Compares two experiments by the same rows in the same repetition, where the same version of an evaluator scored
 * both.
 */
export async function compareExperiments(
  db: Db,
  experiment: ExperimentRow,
  other: ExperimentRow,
): Promise<ExperimentsCompared> {
  const ids = [experiment.experiment_id, other.experiment_id] as const;
  const [here, there] = [await experimentStatus(db, experiment), await experimentStatus(db, other)];
  const rows = await countPairs(db, ...ids);
  const differences = await compareRows(db, ...ids);
  const pinned = await pinnedEvaluators(db, [...experiment.evaluators, ...other.evaluators]);
  const directions = new Map(pinned.map((each) => [each.evaluator_id, each.definition.score.direction]));
  const named = new Map(pinned.map(({ evaluator_id, name }) => [evaluator_id, name]));
  const per_evaluator = [...named].map(([evaluator_id, name]): ComparedEvaluator => {
    const difference = differences.find((each) => each.evaluator_id === evaluator_id);
    const sides = { here: sideOf(here, evaluator_id), there: sideOf(there, evaluator_id) };
    return { evaluator_id, name, ...sides, ...comparison(difference, directions.get(evaluator_id) ?? "maximize") };
  });
  const changed = (await changedScores(db, ...ids, NAMED)).flatMap((each) => {
    const direction = directions.get(each.evaluator_id);
    // The score's evaluator is not part of this experiment, but of a monitor, for example.
    if (direction === undefined) return [];
    const isBetter = each.number > each.with_number === (direction === "maximize");
    return [{ ...each, change: isBetter ? ("improved" as const) : ("regressed" as const) }];
  });
  const metrics: ExperimentsCompared["metrics"] = [
    { metric: "error_rate", here: errorRateOf(here), there: errorRateOf(there) },
    { metric: "p95_latency_ms", here: here.p95_latency_ms, there: there.p95_latency_ms },
    { metric: "cost_usd", here: here.usage.cost_usd, there: there.usage.cost_usd },
  ];
  return { rows, per_evaluator, metrics, changed };
}

function sideOf({ per_evaluator }: ExperimentStatus, evaluatorId: string): Side | null {
  const found = per_evaluator.find(({ evaluator_id }) => evaluator_id === evaluatorId);
  if (found === undefined) return null;
  const { evaluator_version, n, mean, pass_rate, unscored } = found;
  return { evaluator_version, n, mean, pass_rate, unscored };
}

/** What an experiment says of a version. */
export interface Measured {
  readonly experiment_id: string;
  readonly rows: number;
  /** The share of passes among the scores that should exist; null if no evaluator passes or fails. */
  readonly pass_rate: number | null;
  readonly cost_usd: number;
}

/** The newest completed experiments of two versions with the same dataset and evaluators; null if there are none. */
export async function measuredVersions(
  db: Db,
  projectId: string,
  versions: { readonly before: number; readonly after: number },
) {
  const found = await comparableExperiments(db, projectId, versions);
  return found && { dataset_id: found.after.dataset_id, before: measured(found.before), after: measured(found.after) };
}

function measured({ experiment_id, result }: CompletedExperiment): Measured {
  const judged = result.per_evaluator.filter(({ pass_rate }) => pass_rate !== null);
  const expected = judged.reduce((sum, each) => sum + each.expected, 0);
  const passed = judged.reduce((sum, each) => sum + each.passed, 0);
  return {
    experiment_id,
    rows: result.counts.rows,
    pass_rate: expected === 0 ? null : passed / expected,
    cost_usd: result.usage.cost_usd,
  };
}
