import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { createDueFirings } from "./due-firings.ts";
import type { DueFiringsDeps } from "./due-firings.ts";

/** Starts the runs of due firings. Any number of processes may run it. */
export function startTriggers(deps: DueFiringsDeps, intervalMs: number, onError: (error: unknown) => void): Periodic {
  const firings = createDueFirings(deps, onError, () => periodic.wake());
  const periodic = periodically(intervalMs, (isClosed) => firings.start(isClosed), onError);
  return {
    wake: () => periodic.wake(),
    async close() {
      await periodic.close();
      await firings.ended();
    },
  };
}
