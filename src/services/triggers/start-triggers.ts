import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { startDueFirings } from "./due-firings.ts";
import type { StartRunDeps } from "./start-run.ts";

/** Starts the runs of firings that wait. Any number of processes may do it. */
export function startTriggers(deps: StartRunDeps, intervalMs: number, onError: (error: unknown) => void): Periodic {
  return periodically(intervalMs, (isClosed) => startDueFirings(deps, isClosed, onError), onError);
}
