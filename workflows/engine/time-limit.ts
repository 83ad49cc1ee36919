import { CancellationScope, isCancellation, patched, sleep } from "@temporalio/workflow";
import { NodeFailure } from "../../src/domain/failure.ts";
import type { PlanNode } from "../../src/domain/flow/types.ts";

/** Kinds that the workflow itself runs for as long as they take; an activity watches its own time. */
const TIMED: ReadonlySet<string> = new Set(["delay", "map", "loop", "subflow"]);

/** Runs a node within its `timeout_ms`, where it has one: then what it has under way is cancelled, and it fails with `node_timeout`. */
export async function withinTimeLimit<T>(node: PlanNode, work: () => Promise<T>): Promise<T> {
  const { timeout_ms, type } = node;
  if (timeout_ms === undefined || !TIMED.has(type) || !patched("time-limits-of-all-kinds")) return work();
  const working = new CancellationScope();
  const timing = new CancellationScope();
  let late = false;
  timing
    .run(() => sleep(timeout_ms))
    .then(() => {
      late = true;
      working.cancel();
    })
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  try {
    return await working.run(work);
  } catch (error) {
    if (!late || !isCancellation(error)) throw error;
    throw new NodeFailure("node_timeout", `The node did not end within its time-out of ${timeout_ms} ms.`);
  } finally {
    timing.cancel();
  }
}
