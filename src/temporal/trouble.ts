import type { Client } from "@temporalio/client";
import { describe, ignoreMissing, inTime, statusOf, type Described, type WorkflowView } from "./calls.ts";
import { runWorkflowId } from "./ids.ts";

/** Failing tasks of a workflow, which Temporal retries forever, with growing intervals. */
export interface TaskTrouble {
  readonly workflow_id: string;
  /** Consecutive failed attempts, including the running one. */
  readonly attempts: number;
  /**
   * Whether the tasks time out, because the processes that take them crash or hang. Otherwise they end with an error of the workflow's
   * code.
   */
  readonly timed_out: boolean;
}

/** The state of a run in Temporal: its workflow's status and, if it is open, whether it makes progress. */
export interface RunView {
  readonly view: WorkflowView;
  /** The failing tasks of the run's workflow or of a slice; null if its tasks succeed. */
  readonly trouble: TaskTrouble | null;
}

/** A first retry is not reported, because stopping a worker is enough to cause one. */
const FEWEST_ATTEMPTS = 3;
/** EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT of Temporal's API. */
const TASK_TIMED_OUT = 8;
/** Most open slices of a run that are examined, because they all execute the same nodes. */
const MAX_SLICES = 8;

/** The state of a run's workflow, including the slice with the most failures. */
export async function lookAtRun(client: Client, runId: string): Promise<RunView> {
  const own = runWorkflowId(runId);
  const described = await describe(client, own);
  if (!described) return { view: "not_found", trouble: null };
  const { status, raw } = described;
  const view = statusOf(status.name);
  if (view !== "running") return { view, trouble: null };
  let worst = { workflow_id: own, attempts: attemptsOf(raw) };
  // A slice's own slices are its children, and their IDs have the same prefix.
  const waiting = slicesOf(raw, own);
  for (let looked = 0; waiting.length > 0 && looked < MAX_SLICES; looked += 1) {
    const workflow_id = waiting.pop() ?? "";
    const slice = await describe(client, workflow_id);
    if (!slice) continue;
    const attempts = attemptsOf(slice.raw);
    if (attempts > worst.attempts) worst = { workflow_id, attempts };
    waiting.push(...slicesOf(slice.raw, own));
  }
  if (worst.attempts < FEWEST_ATTEMPTS) return { view, trouble: null };
  return { view, trouble: { ...worst, timed_out: await timesOut(client, worst.workflow_id) } };
}

function attemptsOf({ pendingWorkflowTask }: Described["raw"]): number {
  return pendingWorkflowTask?.attempt ?? 0;
}

/** The open slices that a run's workflow has started. */
function slicesOf({ pendingChildren }: Described["raw"], own: string): string[] {
  return (pendingChildren ?? []).flatMap(({ workflowId }) => (workflowId?.startsWith(`${own}/`) ? [workflowId] : []));
}

/** A history only contains the first of several consecutive failed tasks, as its last event. */
async function timesOut(client: Client, workflowId: string): Promise<boolean> {
  const { history } = await inTime(
    client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: client.options.namespace,
      execution: { workflowId },
      maximumPageSize: 1,
    }),
  );
  return history?.events?.[0]?.eventType === TASK_TIMED_OUT;
}

/**
 * Kills the workflow of a run and its slices without letting them clean up. When a workflow ends, Temporal only asks its slices to cancel,
 * which a stuck slice cannot do.
 */
export async function terminateRun(client: Client, runId: string, reason: string): Promise<void> {
  const own = runWorkflowId(runId);
  const waiting = [own];
  const seen = new Set<string>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const handle = client.workflow.getHandle(id);
    const before = await describe(client, id);
    await inTime(handle.terminate(reason)).catch(ignoreMissing);
    // The workflow may have started another slice meanwhile. Temporal also knows the open slices of a closed workflow.
    const after = await describe(client, id);
    for (const found of [before, after]) if (found) waiting.push(...slicesOf(found.raw, own));
  }
}
