import type { Database } from "../../stores/db.ts";
import { hasScore, insertScores } from "../../stores/evals/scores.ts";
import type { NewScore } from "../../stores/evals/scores.ts";

/** What somebody thinks of a run's answer. */
interface Feedback extends Pick<NewScore, "score_id" | "run_id" | "comment" | "author"> {
  readonly feedback: "positive" | "negative" | number;
}

/** Keeps feedback as a score of its run; the same `score_id` again (the request was tried before) adds nothing. */
export async function giveFeedback(db: Database, orgId: string, { feedback, ...given }: Feedback): Promise<void> {
  const score: NewScore = {
    ...given,
    ...valueOf(feedback),
    node_id: null,
    name: "feedback",
    error: null,
    source: "api",
    evaluator_id: null,
    evaluator_version: null,
    experiment_id: null,
    monitor_id: null,
    metadata: {},
    usage: null,
  };
  await db.orgTransaction(orgId, async (connected) => {
    if (!(await hasScore(connected, given.score_id))) await insertScores(connected, orgId, [score]);
  });
}

function valueOf(
  feedback: Feedback["feedback"],
): Pick<NewScore, "data_type" | "value" | "number" | "passed" | "label"> {
  if (typeof feedback === "number") {
    return { data_type: "numeric", value: feedback, number: feedback, passed: null, label: null };
  }
  const passed = feedback === "positive";
  return { data_type: "boolean", value: passed, number: passed ? 1 : 0, passed, label: feedback };
}
