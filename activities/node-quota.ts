import { Context } from "@temporalio/activity";
import type { ExecuteInput } from "../src/domain/runs/run-report.ts";
import type { NodePlaces } from "../src/services/runs/node-places.ts";
import { whileBeating } from "./attempts.ts";
import { createInPlace } from "./shares.ts";

/**
 * The duration assumed until the first node has finished (ms). Short, because a return that finds no slot costs less
 * than a slot that stays empty.
 */
const FIRST_MEAN_MS = 500;

/**
 * Wraps the execution of nodes. If the organisation has a quota of concurrent nodes, a node starts when it gets a slot.
 * If none becomes free soon, the node is handed back to Temporal, which schedules it on any worker for about when one
 * will be free.
 */
export function withinNodeQuota<Output>(
  execute: (input: ExecuteInput) => Promise<Output>,
  places: NodePlaces,
): (input: ExecuteInput) => Promise<Output> {
  const inPlace = createInPlace(
    places.inUse,
    "The organisation's quota of concurrent nodes is used up: the task is queued again when a slot is free.",
    FIRST_MEAN_MS,
  );
  return async (input) => {
    const { org_id, run_id } = input.run;
    if (!(await places.needed(org_id))) return execute(input);
    const context = Context.current();
    const { workflowExecution, activityId } = context.info;
    const task = `${workflowExecution?.runId ?? run_id} ${activityId}`;
    const release = await whileBeating(() => places.take({ org_id, run_id, task }, context.cancellationSignal));
    return inPlace(context, org_id, release, () => execute(input));
  };
}
