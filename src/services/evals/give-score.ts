import { required } from "../../domain/errors.ts";
import { numberOf } from "../../domain/evals/score-result.ts";
import { recordCreated } from "../audit/audit.ts";
import type { RowAudit } from "../audit/audit.ts";
import type { Database, Db } from "../../stores/db.ts";
import { findScore, insertScores } from "../../stores/evals/scores.ts";
import type { NewScore, ScoreRow } from "../../stores/evals/scores.ts";

/** A score that a program or a person gives a run. */
export interface GivenScore extends Pick<
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
