import { Context } from "@temporalio/activity";
import type { ExecuteInput } from "../src/domain/runs/run-report.ts";
import type { NodePlaces } from "../src/services/runs/node-places.ts";
import { whileBeating } from "./attempts.ts";
import { createInPlace } from "./shares.ts";

/**
 * The duration assumed until the first node has ended (ms): a few returns in vain cost less than places that stay
 * empty.
 */
const FIRST_MEAN_MS = 500;

/**
 * Wraps the execution of nodes. If the organisation has a quota of concurrent nodes, a node starts when it has a
 * place. If none is free soon, the node is handed back to Temporal, and returns, here or at another worker, about when
 * there will be one.
 */
export function withinNodeQuota<Output>(
  execute: (input: ExecuteInput) => Promise<Output>,
  places: NodePlaces,
): (input: ExecuteInput) => Promise<Output> {
  const inPlace = createInPlace(
    places.inUse,
    "The organisation has as many nodes under way as its quota says: the task returns when there is a place.",
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
