import { continueAsNew, sleep } from "@temporalio/workflow";
import { ownActivities } from "../activities.ts";
import type { RunJobActivities } from "../../activities/runs/types.ts";
import type { RunJobInput } from "../../src/domain/runs/run-job.ts";

/** Only an upper limit: activities hand the work back much earlier. */
const STEP_TIMEOUT_MS = 600_000;
/** How long to wait for room for more runs (ms). */
const WAIT_MS = 2000;
/** Number of activities after which the workflow continues as new. */
const MAX_ACTIVITIES = 200;

/**
 * Keeps a worker on a job over many runs until the job has ended. The progress is in the job's row, and the workflow itself has no state,
 * however many runs there are.
 */
export async function runJob(input: RunJobInput): Promise<void> {
  const { stepRunJob } = ownActivities<RunJobActivities>(STEP_TIMEOUT_MS);
  for (let made = 0; made < MAX_ACTIVITIES; made += 1) {
    const outcome = await stepRunJob(input);
    if (outcome === "end") return;
    if (outcome === "wait") await sleep(WAIT_MS);
  }
  await continueAsNew<typeof runJob>(input);
}
