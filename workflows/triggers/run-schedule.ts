import { executeChild, ParentClosePolicy, sleep, workflowInfo } from "@temporalio/workflow";
import type { RunWorkflowInput } from "../../src/domain/runs/run.ts";
import { NO_PLACE } from "../../src/domain/triggers/scheduled.ts";
import type { ScheduledInput } from "../../src/domain/triggers/trigger.ts";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { local } from "../activities.ts";

/** How long (ms) to wait for room among the open runs, and how often: more than a day in all. */
const FIRST_WAIT_MS = 2000;
const MAX_WAIT_MS = 60_000;
const MAX_TRIES = 1500;

/**
 * Runs a flow at one of the times of a schedule. It lasts as long as the run, because Temporal's overlap policies
 * depend on that.
 */
export async function runSchedule({ org_id, id, node_queue }: ScheduledInput): Promise<void> {
  const scheduled_at = scheduledTime();
  let start = await local.createScheduledRun({ org_id, id, scheduled_at });
  for (let tries = 0; start === NO_PLACE && tries < MAX_TRIES; tries += 1) {
    await sleep(Math.min(FIRST_WAIT_MS * 2 ** tries, MAX_WAIT_MS));
    start = await local.createScheduledRun({ org_id, id, scheduled_at });
  }
  // The trigger shows why.
  if (start === null || start === NO_PLACE) return;
  try {
    await executeChild<(input: RunWorkflowInput) => Promise<unknown>>("runFlow", {
      workflowId: runWorkflowId(start.run_id),
      args: [{ ...start, node_queue }],
      workflowIdReusePolicy: "REJECT_DUPLICATE",
      workflowExecutionTimeout: (start.timeout_seconds + 600) * 1000,
      parentClosePolicy: ParentClosePolicy.ABANDON,
    });
  } catch {
    // The run's record has the result. The sweeper may have started the run already.
  }
}

/** The scheduled time of this workflow, as recorded by Temporal. */
function scheduledTime(): string {
  const [at] = workflowInfo().searchAttributes["TemporalScheduledStartTime"] ?? [];
  return (at instanceof Date ? at : workflowInfo().startTime).toISOString();
}
