import { WorkflowNotFoundError, type WorkflowHandle } from "@temporalio/client";
import { runWorkflowId } from "../../src/temporal/ids.ts";
import { administer } from "../support/database.ts";
import { withTemporal } from "../support/histories.ts";
import { eventually } from "../support/scratch.ts";
import type { OwnService } from "../support/service.ts";

/**
 * Deletes a run's workflow in Temporal, as when its database is lost; resolves with the ID of the lost execution.
 * Temporal terminates a workflow before it deletes it, so the sweeper is delayed meanwhile; otherwise it would record
 * the run as terminated.
 */
export async function loseWorkflow(
  service: Pick<OwnService, "databaseUrl" | "temporalAddress">,
  runId: string,
): Promise<string> {
  const checkAt = (time: string) =>
    administer(service.databaseUrl, `update runs set check_at = ${time} where run_id = '${runId}'`);
  return await withTemporal(service.temporalAddress, async (client) => {
    const handle = client.workflow.getHandle(runWorkflowId(runId));
    const { runId: lost } = await handle.describe();
    const workflowExecution = { workflowId: handle.workflowId, runId: lost };
    await checkAt("now() + interval '1 hour'");
    await client.workflowService.deleteWorkflowExecution({ namespace: "default", workflowExecution });
    await eventually("the workflow is gone", async () => {
      // A pending write to the record may reset the time of the next check, so it is set repeatedly.
      await checkAt("now() + interval '1 hour'");
      return !(await isThere(handle));
    });
    await checkAt("now()");
    return lost;
  });
}

async function isThere(handle: WorkflowHandle): Promise<boolean> {
  try {
    await handle.describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
