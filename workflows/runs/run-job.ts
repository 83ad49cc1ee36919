import { continueAsNew, sleep } from "@temporalio/workflow";
import { ownActivities } from "../activities.ts";
import type { RunJobActivities } from "../../activities/index.ts";
import type { RunJobInput } from "../../src/domain/runs/run-job.ts";

/** Activities give the work back long before. */
const STEP_TIMEOUT_MS = 600_000;
/** Until there may be a place for more runs. */
const WAIT_MS = 2000;
/** Activities after which the history begins anew. */
const MAX_ACTIVITIES = 200;

/**
 * Sees to it that some worker goes on with what is done with many runs until it has ended. How far it is, is in its row. The
 * workflow holds nothing, however many runs there are.
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
