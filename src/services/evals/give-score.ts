import { required } from "../../domain/errors.ts";
import { numberOf } from "../../domain/evals/score-result.ts";
import { recordCreated, type RowAudit } from "../audit/audit.ts";
import type { Database, Db } from "../../stores/db.ts";
import {
  findScore,
  insertScores,
  deleteScore,
  labelsOfScores,
  type NewScore,
  type ScoreRow,
} from "../../stores/evals/scores.ts";

/** A score that a program or a person gives a run. */
interface GivenScore extends Pick<
  NewScore,
  "score_id" | "run_id" | "node_id" | "name" | "data_type" | "label" | "comment" | "author" | "metadata"
> {
  readonly source: "api" | "human";
  readonly value: number | boolean | string;
  /** Null: a boolean value decides whether the score passes; for other values that is unknown. */
  readonly passed: boolean | null;
}

/** The score with this ID. Throws 404. */
export async function requireScore(db: Db, scoreId: string, lock = false): Promise<ScoreRow> {
  return required(await findScore(db, scoreId, lock), "score");
}

/** Stores a score of an existing run; a retry with the same `score_id` adds nothing. */
export async function giveScore(
  db: Database,
  orgId: string,
  given: GivenScore,
  audited?: RowAudit<ScoreRow>,
): Promise<ScoreRow> {
  const { value } = given;
  const passed = given.passed ?? (typeof value === "boolean" ? value : null);
  const score: NewScore = {
    ...given,
    number: numberOf({ value, passed }),
    passed,
    error: null,
    evaluator_id: null,
    evaluator_version: null,
    experiment_id: null,
    monitor_id: null,
    usage: null,
  };
  return await db.orgTransaction(orgId, async (connection) => {
    const earlier = await findScore(connection, given.score_id);
    if (earlier !== null) return earlier;
    await insertScores(connection, orgId, [score]);
    const row = await requireScore(connection, given.score_id);
    if (audited !== undefined) await recordCreated(connection, audited, row);
    return row;
  });
}

/** An end user's rating of a run's output. */
interface Feedback extends Pick<GivenScore, "score_id" | "run_id" | "comment" | "author"> {
  readonly feedback: "positive" | "negative" | number;
}

/** Stores feedback as a score of its run; with the same `score_id` again it adds nothing or, with `replace`, replaces the score. */
export async function giveFeedback(
  db: Database,
  orgId: string,
  { feedback, ...given }: Feedback,
  { replace = false }: { readonly replace?: boolean } = {},
): Promise<void> {
  if (replace) await db.org(orgId, (connection) => deleteScore(connection, given.score_id));
  const isNumber = typeof feedback === "number";
  await giveScore(db, orgId, {
    ...given,
    node_id: null,
    name: "feedback",
    data_type: isNumber ? "numeric" : "boolean",
    value: isNumber ? feedback : feedback === "positive",
    passed: null,
    label: isNumber ? null : feedback,
    source: "api",
    metadata: {},
  });
}

/** The thumbs of these scores, by their IDs. */
export async function feedbackOf(
  db: Database,
  orgId: string,
  scoreIds: readonly string[],
): Promise<ReadonlyMap<string, "positive" | "negative">> {
  const found = scoreIds.length === 0 ? [] : await db.org(orgId, (connection) => labelsOfScores(connection, scoreIds));
  return new Map(
    found.flatMap(({ score_id, label }) =>
      label === "positive" || label === "negative" ? [[score_id, label] as const] : [],
    ),
  );
}
