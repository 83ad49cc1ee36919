import { Context } from "@temporalio/activity";
import { placesAround } from "../../src/domain/flow/plan/places.ts";
import type { HandedBack } from "../../src/domain/runs/handed-back.ts";
import type { ExecuteInput, RunIdentity } from "../../src/domain/runs/run-report.ts";
import { hasToStop } from "../../src/stores/around.ts";
import type { Database } from "../../src/stores/db.ts";
import { isStopping } from "../../src/stores/runs/node-runs.ts";
import { handBack } from "../shares.ts";

/** A run younger than this is not checked, because it learns of a cancellation soon enough anyway (ms). */
const YOUNG_MS = 1000;
/** Returned to make the workflow wait for a timer, during which it receives pending signals; timers take at least a second. */
const AT_ONCE: HandedBack = { handed_back_ms: 1 };

/**
 * Hands local work back if its run must stop, because a workflow that runs local activities back to back receives no
 * signal or timer for up to eight seconds.
 */
export async function unlessItStops<T>(
  db: Database,
  run: RunIdentity,
  work: () => Promise<T>,
): Promise<T | HandedBack> {
  const isYoung = Date.now() - Date.parse(run.started_at) < YOUNG_MS;
  if (!isYoung && (await db.org(run.org_id, (connection) => hasToStop(connection, run)))) return AT_ONCE;
  return work();
}

/** When a handed-back node of a failed map returns, unless it is cancelled first (ms). */
const RETURN_MS = 2000;

/**
 * Wraps the execution of nodes: a node in a slice does not start once its map has failed in another slice. The slices'
 * workflows learn of the failure one by one, which takes seconds on a busy machine.
 */
export function unlessItsMapStops<Output>(
  db: Database,
  execute: (input: ExecuteInput) => Promise<Output>,
): (input: ExecuteInput) => Promise<Output> {
  return async (input) => {
    const { org_id, run_id } = input.run;
    const around = input.sliced ? placesAround(input).map(({ path }) => path) : [];
    if (around.length > 0 && (await db.org(org_id, (connection) => isStopping(connection, run_id, around))))
      handBack(Context.current(), "The map around the node failed, or the run is being cancelled.", RETURN_MS);
    return execute(input);
  };
}
