import { ownActivities } from "../activities.ts";
import type { EvalActivities } from "../../activities/evals/types.ts";
import type { WatchInput } from "../../src/domain/evals/monitor.ts";

const STEP_TIMEOUT_MS = 900_000;
/** Most batches in one workflow, so that its history stays short. The schedule's next workflow continues. */
const MAX_BATCHES = 100;

/** Scores the runs that a monitor has sampled since the last time, and evaluates its alert after each batch. */
export async function watchMonitor(input: WatchInput): Promise<void> {
  const { scoreTaken, checkAlert } = ownActivities<EvalActivities>(STEP_TIMEOUT_MS);
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { more } = await scoreTaken(input);
    // Needed even if nothing was scored, because time windows move.
    await checkAlert(input);
    if (!more) return;
  }
}
