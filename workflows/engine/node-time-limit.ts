import { CancellationScope, isCancellation } from "@temporalio/workflow";
import { NodeFailure } from "../../src/domain/runs/failure.ts";
import type { PlanNode } from "../../src/domain/flow/plan/types.ts";

/** Node types that the workflow itself waits for; an activity enforces its own time limit. */
const TIMED: ReadonlySet<string> = new Set(["delay", "map", "loop", "subflow"]);

/**
 * Runs a node within its `timeout_ms`, if it has one. When the time is up, its pending work is cancelled and it fails with `node_timeout`.
 */
export function withinTimeLimit<T>(node: PlanNode, work: () => Promise<T>): Promise<T> {
  const { timeout_ms, type } = node;
  return timeout_ms === undefined || !TIMED.has(type) ? work() : within(timeout_ms, work);
}

async function within<T>(timeout_ms: number, work: () => Promise<T>): Promise<T> {
  try {
    return await CancellationScope.withTimeout(timeout_ms, work);
  } catch (error) {
    // Cancelled, although the surrounding scope is not: the time was up.
    if (!isCancellation(error) || CancellationScope.current().consideredCancelled) throw error;
    throw new NodeFailure("node_timeout", `The node did not finish within its timeout of ${timeout_ms} ms.`);
  }
}
