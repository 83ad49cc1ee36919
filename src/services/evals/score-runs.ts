import { uuidv7 } from "uuidv7";
import { numberOf } from "../../domain/evals/score-result.ts";
import type { JsonObject } from "../../domain/json.ts";
import { pinnedEvaluators, type PinnedEvaluator } from "../../stores/evals/evaluators.ts";
import { addCost } from "../../stores/evals/experiments.ts";
import { insertScores, scoredBefore, type NewScore } from "../../stores/evals/scores.ts";
import { samplesOf, type SampleDeps } from "./samples.ts";
import { readsWholeSample, type Scorer } from "./scorer.ts";

export interface ScoreRunsDeps extends SampleDeps {
  readonly scorer: Scorer;
}

/** A version of an evaluator. */
export interface EvaluatorPin {
  readonly evaluator_id: string;
  readonly version: number;
}

/** A run to score, with data that is not in its record. */
export interface RunToScore {
  readonly run_id: string;
  readonly expected_outputs?: JsonObject;
  readonly metadata?: JsonObject;
}

export interface ScoreRunsOptions {
  readonly experiment_id?: string;
  readonly monitor_id?: string;
  /** Scores runs again. By default only missing scores and errors are scored. */
  readonly again?: boolean;
  readonly signal?: AbortSignal;
}

/** Runs per batch, if an evaluator reads whole samples and otherwise. Each batch's scores are stored before the next batch. */
const WHOLE_AT_ONCE = 20;
const AT_ONCE = 100;

/**
 * Scores finished runs with versions of evaluators and stores the scores. A score that a version has already given is
 * never repeated, even if other evaluators failed for that run. The cost of judges is added to the experiment in the
 * transaction that stores their scores. Can be called again after any failure.
 */
export async function scoreRuns(
  deps: ScoreRunsDeps,
  orgId: string,
  pins: readonly EvaluatorPin[],
  runs: readonly RunToScore[],
  options: ScoreRunsOptions = {},
): Promise<void> {
  const { again = false, signal } = options;
  const ids = runs.map(({ run_id }) => run_id);
  const evaluators = await deps.db.org(orgId, (connection) => pinnedEvaluators(connection, pins));
  const known = again ? new Set<string>() : await deps.db.org(orgId, (connection) => scoredBefore(connection, ids));
  // Groups runs that lack the same scores.
  const groups = new Map<string, { readonly asked: readonly PinnedEvaluator[]; readonly runs: RunToScore[] }>();
  for (const run of runs) {
    const asked = evaluators.filter(
      ({ evaluator_id, version }) => !known.has(`${run.run_id} ${evaluator_id} ${version}`),
    );
    const key = asked.map(({ evaluator_id, version }) => `${evaluator_id} ${version}`).join();
    const group = groups.get(key) ?? { asked, runs: [] };
    groups.set(key, group);
    group.runs.push(run);
  }
  for (const { asked, runs: lacking } of groups.values()) {
    if (asked.length === 0) continue;
    const size = asked.some(({ definition }) => readsWholeSample(definition)) ? WHOLE_AT_ONCE : AT_ONCE;
    for (let at = 0; at < lacking.length; at += size) {
      signal?.throwIfAborted();
      await scoreTogether(deps, orgId, asked, lacking.slice(at, at + size), options);
    }
  }
}

async function scoreTogether(
  deps: ScoreRunsDeps,
  orgId: string,
  evaluators: readonly PinnedEvaluator[],
  runs: readonly RunToScore[],
  { experiment_id, monitor_id, again = false, signal }: ScoreRunsOptions,
): Promise<void> {
  const isDetailed = evaluators.some(({ definition }) => readsWholeSample(definition));
  const ids = runs.map(({ run_id }) => run_id);
  const found = await samplesOf(deps, orgId, ids, isDetailed);
  const samples = runs.flatMap(({ run_id, expected_outputs, metadata }) => {
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
  const cost = scores.reduce((sum, { usage }) => sum + costIn(usage), 0);
  await deps.db.orgTransaction(orgId, async (connection) => {
    await insertScores(connection, orgId, scores, again);
    if (experiment_id !== undefined) await addCost(connection, experiment_id, cost);
  });
}

function costIn(usage: JsonObject | null): number {
  return typeof usage?.["cost_usd"] === "number" ? usage["cost_usd"] : 0;
}
