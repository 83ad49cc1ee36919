import { ownActivities } from "../activities.ts";
import type { EvalActivities } from "../../activities/evals/types.ts";
import type { ImportInput } from "../../src/domain/evals/import.ts";
import type { WatchInput } from "../../src/domain/evals/monitor.ts";

export { runExperiment, runExperimentLane } from "./run-experiment.ts";

const IMPORT_TIMEOUT_MS = 3_600_000;
const WATCH_TIMEOUT_MS = 900_000;
/** Most batches in one workflow, so that its history stays short. The schedule's next workflow continues. */
const MAX_BATCHES = 100;

/** Imports rows into a dataset, and records the result in the import's row. */
export async function importDataset(input: ImportInput): Promise<void> {
  await ownActivities<EvalActivities>(IMPORT_TIMEOUT_MS).importRows(input);
}

/** Scores the runs that a monitor has sampled since the last time, and evaluates its alert after each batch. */
export async function watchMonitor(input: WatchInput): Promise<void> {
  const { scoreTaken, checkAlert } = ownActivities<EvalActivities>(WATCH_TIMEOUT_MS);
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { more } = await scoreTaken(input);
    // Needed even if nothing was scored, because time windows move.
    await checkAlert(input);
    if (!more) return;
  }
}
