import { uuidv7 } from "uuidv7";
import { numberOf } from "../../domain/evals/evaluator.ts";
import type { JsonObject } from "../../domain/json.ts";
import { pinnedEvaluators } from "../../stores/evals/evaluators.ts";
import { insertScores, scoredBefore } from "../../stores/evals/scores.ts";
import type { NewScore } from "../../stores/evals/scores.ts";
import { samplesOf } from "./samples.ts";
import type { SampleDeps } from "./samples.ts";
import type { Scorer } from "./scorer.ts";

export interface ScoreRunsDeps extends SampleDeps {
  readonly scorer: Scorer;
}

/** A version of an evaluator. */
export interface EvaluatorPin {
  readonly evaluator_id: string;
  readonly version: number;
}

/** A run to score, and what is known of it beyond its record. */
export interface RunToScore {
  readonly run_id: string;
  readonly expected_outputs?: JsonObject;
  readonly metadata?: JsonObject;
}

export interface ScoreRunsOptions {
  readonly experiment_id?: string;
  readonly monitor_id?: string;
  /** Scores again what has been scored; default only what has not, or was an error. */
  readonly again?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Scores runs that have ended by versions of evaluators and keeps the scores. What a version has said of a run is not asked for
 * again, whoever asked before. Can be called again after any failure. Returns what judges have cost (US dollars).
 */
export async function scoreRuns(
  deps: ScoreRunsDeps,
  orgId: string,
  pins: readonly EvaluatorPin[],
  runs: readonly RunToScore[],
  { experiment_id, monitor_id, again = false, signal }: ScoreRunsOptions = {},
): Promise<number> {
  const ids = runs.map(({ run_id }) => run_id);
  const evaluators = await deps.db.org(orgId, (connection) => pinnedEvaluators(connection, pins));
  const known = again ? new Set<string>() : await deps.db.org(orgId, (connection) => scoredBefore(connection, ids));
  const isOpen = (runId: string): boolean =>
    evaluators.some(({ evaluator_id, version }) => !known.has(`${runId} ${evaluator_id} ${version}`));
  const open = runs.filter(({ run_id }) => isOpen(run_id));
  const found = await samplesOf(
    deps,
    orgId,
    open.map(({ run_id }) => run_id),
  );
  const samples = open.flatMap(({ run_id, expected_outputs, metadata }) => {
    const sample = found.get(run_id);
    if (sample === undefined) return [];
    return [{ ...sample, run_id, expected_outputs: expected_outputs ?? {}, metadata: metadata ?? sample.metadata }];
  });
  const rows = await deps.scorer.score(orgId, evaluators, samples, signal);
  const scores = rows.flatMap((ofSample, index) =>
    ofSample.map((scored, place): NewScore => {
      const { value, passed, label, reasoning, error, usage } = scored;
      const evaluator = evaluators[place];
      return {
        score_id: uuidv7(),
        run_id: samples[index]?.run_id ?? "",
        node_id: null,
        name: evaluator?.name ?? "",
        data_type: evaluator?.definition.score.data_type ?? "numeric",
        value,
        number: numberOf(scored),
        passed,
        label,
        comment: reasoning,
        error,
        source: "evaluator",
        evaluator_id: evaluator?.evaluator_id ?? null,
        evaluator_version: evaluator?.version ?? null,
        experiment_id: experiment_id ?? null,
        monitor_id: monitor_id ?? null,
        author: null,
        metadata: {},
        usage,
      };
    }),
  );
  await deps.db.org(orgId, (connection) => insertScores(connection, orgId, scores, again));
  return scores.reduce((sum, { usage }) => sum + (typeof usage?.["cost_usd"] === "number" ? usage["cost_usd"] : 0), 0);
}
