import { z } from "zod";
import { DATA_TYPES } from "../../domain/evals/evaluators/kind.ts";
import { SCORE_SOURCES } from "../../stores/evals/scores.ts";
import type { ScoreRow } from "../../stores/evals/scores.ts";
import { scoreResultSchema } from "./evaluator-presenter.ts";

const { value, passed, error } = scoreResultSchema.shape;

export const scoreSchema = z
  .object({
    score_id: z.uuid(),
    run_id: z.uuid(),
    node_id: z.string().nullable().describe("Null: of the whole run."),
    name: z.string(),
    data_type: z.enum(DATA_TYPES),
    value,
    passed,
    comment: z.string().nullable().describe("Why, in words: of an evaluator, its reasoning."),
    error,
    source: z.enum(SCORE_SOURCES).describe("`human`: a signed-in user; `api`: an API key, or feedback."),
    evaluator_id: z.uuid().nullable(),
    evaluator_version: z.int().nullable(),
    experiment_id: z.uuid().nullable(),
    monitor_id: z.uuid().nullable(),
    author: z.uuid().nullable().describe("Id of the user or API key."),
    metadata: z.record(z.string(), z.unknown()),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "Score" });

export function presentScore(row: ScoreRow): z.infer<typeof scoreSchema> {
  return {
    score_id: row.score_id,
    run_id: row.run_id,
    node_id: row.node_id,
    name: row.name,
    data_type: row.data_type,
    value: row.value as z.infer<typeof value>,
    passed: row.passed,
    comment: row.comment,
    error: row.error,
    source: row.source,
    evaluator_id: row.evaluator_id,
    evaluator_version: row.evaluator_version,
    experiment_id: row.experiment_id,
    monitor_id: row.monitor_id,
    author: row.author,
    metadata: row.metadata,
    created_at: row.created_at,
  };
}
