import type { Database } from "../../stores/db.ts";
import { giveScore } from "./give-score.ts";
import type { GivenScore } from "./give-score.ts";

/** An end user's rating of a run's output. */
interface Feedback extends Pick<GivenScore, "score_id" | "run_id" | "comment" | "author"> {
  readonly feedback: "positive" | "negative" | number;
}

/** Stores feedback as a score of its run; a retry with the same `score_id` adds nothing. */
export async function giveFeedback(db: Database, orgId: string, { feedback, ...given }: Feedback): Promise<void> {
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
