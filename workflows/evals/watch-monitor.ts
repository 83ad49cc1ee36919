import { ownActivities } from "../activities.ts";
import type { EvalActivities } from "../../activities/index.ts";
import type { WatchInput } from "../../src/domain/evals/monitor.ts";

const STEP_TIMEOUT_MS = 900_000;
/** Most batches before the schedule's next workflow takes over, so that this one's history stays short. */
const MAX_BATCHES = 100;

/** Scores the runs sampled by a monitor since the last time, and checks its alert after each batch. */
export async function watchMonitor(input: WatchInput): Promise<void> {
  const { scoreTaken, checkAlert } = ownActivities<EvalActivities>(STEP_TIMEOUT_MS);
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { more } = await scoreTaken(input);
    // Even when nothing was scored, because time windows move.
    await checkAlert(input);
    if (!more) return;
  }
}
