import { executeChild, ParentClosePolicy, sleep, workflowInfo } from "@temporalio/workflow";
import type { RunWorkflowInput } from "../../src/domain/runs/run.ts";
import { NO_PLACE } from "../../src/domain/triggers/scheduled.ts";
import type { ScheduledInput } from "../../src/domain/triggers/trigger.ts";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { local } from "../activities.ts";

/** Waits for room among the unfinished runs: the first and longest wait (ms), and the number of attempts, in total more than a day. */
const FIRST_WAIT_MS = 2000;
const MAX_WAIT_MS = 60_000;
const MAX_TRIES = 1500;

/** Runs a flow at one time of a schedule. The workflow lasts as long as the run, because Temporal's overlap policies depend on that. */
export async function runSchedule({ org_id, id, node_queue }: ScheduledInput): Promise<void> {
  const scheduled_at = scheduledTime();
  let start = await local.createScheduledRun({ org_id, id, scheduled_at });
  for (let tries = 0; start === NO_PLACE && tries < MAX_TRIES; tries += 1) {
    await sleep(Math.min(FIRST_WAIT_MS * 2 ** tries, MAX_WAIT_MS));
    start = await local.createScheduledRun({ org_id, id, scheduled_at });
  }
  // The trigger's row says why there is no run.
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
    // The run's record has the result. The start also fails if the sweeper has already started the run.
  }
}

/** The time of the schedule that this workflow is for, as recorded by Temporal. */
function scheduledTime(): string {
  const [at] = workflowInfo().searchAttributes["TemporalScheduledStartTime"] ?? [];
  return (at instanceof Date ? at : workflowInfo().startTime).toISOString();
}
