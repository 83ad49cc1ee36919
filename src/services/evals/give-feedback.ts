import type { Database } from "../../stores/db.ts";
import { deleteScore, labelsOfScores } from "../../stores/evals/scores.ts";
import { giveScore } from "./give-score.ts";
import type { GivenScore } from "./give-score.ts";

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
