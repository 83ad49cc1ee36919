import type { Db } from "../../stores/db.ts";
import { comparableExperiments } from "../../stores/evals/experiments.ts";
import type { CompletedExperiment } from "../../stores/evals/experiments.ts";

/** What an experiment says of a version. */
export interface Measured {
  readonly experiment_id: string;
  readonly rows: number;
  /** The share of passes among the scores that should exist; null if no evaluator passes or fails. */
  readonly pass_rate: number | null;
  readonly cost_usd: number;
}

export interface MeasuredVersions {
  readonly dataset_id: string;
  readonly before: Measured;
  readonly after: Measured;
}

/** The newest completed experiments of two versions with the same dataset and evaluators; null if there are none. */
export async function measuredVersions(
  db: Db,
  projectId: string,
  versions: { readonly before: number; readonly after: number },
): Promise<MeasuredVersions | null> {
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
