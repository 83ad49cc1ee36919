import { z } from "zod";
import { DATA_TYPES } from "../../domain/evals/evaluators/kind.ts";
import { SCORE_SOURCES } from "../../stores/evals/scores.ts";
import type { ScoreRow } from "../../stores/evals/scores.ts";
import { asDeclared } from "../http/as-declared.ts";
import { scoreResultSchema } from "./evaluator-presenter.ts";

const { value, passed, error } = scoreResultSchema.shape;

export const scoreSchema = z
  .object({
    score_id: z.uuid(),
    run_id: z.uuid(),
    node_id: z.string().nullable().describe("The scored node; `null` means the whole run."),
    name: z.string(),
    data_type: z.enum(DATA_TYPES),
    value,
    passed,
    comment: z.string().nullable().describe("Reason for the score in words; for an evaluator, its reasoning."),
    error,
    source: z
      .enum(SCORE_SOURCES)
      .describe("`human`: a signed-in user; `api`: an API key or feedback; `evaluator`: an evaluator."),
    evaluator_id: z.uuid().nullable(),
    evaluator_version: z.int().nullable(),
    experiment_id: z.uuid().nullable(),
    monitor_id: z.uuid().nullable(),
    author: z.uuid().nullable().describe("ID of the user or API key."),
    metadata: z.record(z.string(), z.unknown()),
    corrected: z
      .object({
        by: z.uuid().describe("ID of the user or API key, like `author`."),
        at: z.iso.datetime(),
        value,
        passed,
        comment: z.string().nullable(),
        error,
      })
      .nullable()
      .describe("The value before the first correction, and who corrected it last."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "Score" });

export function presentScore(row: ScoreRow): z.infer<typeof scoreSchema> {
  const { corrected } = row;
  return asDeclared(scoreSchema, {
    ...row,
    value: row.value as z.infer<typeof value>,
    corrected: corrected && {
      ...corrected,
      value: corrected.value as z.infer<typeof value>,
      error: corrected.error && { code: corrected.error.code, message: corrected.error.message },
    },
  });
}

/** Example: a judge's score that a person corrected. */
export const CORRECTED: z.infer<typeof scoreSchema> = {
  score_id: "0197f0a0-0000-7000-8000-000000000008",
  run_id: "0197f0a0-0000-7000-8000-000000000006",
  node_id: null,
  name: "right",
  data_type: "numeric",
  value: 0.2,
  passed: false,
  comment: "It names a shop that has closed.",
  error: null,
  source: "evaluator",
  evaluator_id: "0197f0a0-0000-7000-8000-000000000002",
  evaluator_version: 1,
  experiment_id: "0197f0a0-0000-7000-8000-000000000004",
  monitor_id: null,
  author: null,
  metadata: {},
  corrected: {
    by: "0197f0a0-0000-7000-8000-000000000009",
    at: "2026-01-31T09:30:00.000Z",
    value: 0.9,
    passed: true,
    comment: "The answer names a shop.",
    error: null,
  },
  created_at: "2026-01-30T08:00:00.000Z",
};
