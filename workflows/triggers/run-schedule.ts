import { executeChild, ParentClosePolicy, workflowInfo } from "@temporalio/workflow";
import type { RunWorkflowInput } from "../../src/domain/runs/run.ts";
import type { ScheduledInput } from "../../src/domain/triggers/trigger.ts";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { local } from "../activities.ts";

/** Runs a flow at one of the times of a schedule, and lasts as long as the run: Temporal's overlap policies go by that. */
export async function runSchedule({ org_id, id, node_queue }: ScheduledInput): Promise<void> {
  const start = await local.createScheduledRun({ org_id, id, scheduled_at: scheduledTime() });
  if (start === null) return;
  try {
    await executeChild<(input: RunWorkflowInput) => Promise<unknown>>("runFlow", {
      workflowId: runWorkflowId(start.run_id),
      args: [{ ...start, node_queue }],
      workflowIdReusePolicy: "REJECT_DUPLICATE",
      workflowExecutionTimeout: (start.timeout_seconds + 600) * 1000,
      parentClosePolicy: ParentClosePolicy.ABANDON,
    });
  } catch {
    // How the run ended is in its record; where the sweeper has started it already, it is under way.
  }
}

/** The time that this workflow was scheduled for, which Temporal notes. */
function scheduledTime(): string {
  const [at] = workflowInfo().searchAttributes["TemporalScheduledStartTime"] ?? [];
  return (at instanceof Date ? at : workflowInfo().startTime).toISOString();
}
