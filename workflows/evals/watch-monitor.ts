import { ownActivities } from "../activities.ts";
import type { EvalActivities } from "../../activities/index.ts";
import type { WatchInput } from "../../src/domain/evals/monitor.ts";

const STEP_TIMEOUT_MS = 900_000;
/** Batches that are scored before the schedule's next workflow goes on: this one's history stays short. */
const MAX_BATCHES = 100;

/** Scores what a monitor has taken since the last time, and looks at its alert after each batch. */
export async function watchMonitor(input: WatchInput): Promise<void> {
  const { scoreTaken, checkAlert } = ownActivities<EvalActivities>(STEP_TIMEOUT_MS);
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { more } = await scoreTaken(input);
    // Even when nothing was scored, because time windows move.
    await checkAlert(input);
    if (!more) return;
  }
}
