import { eachInTurn, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import { unappliedTriggers } from "../../stores/triggers/triggers.ts";
import { startDueFirings } from "./due-firings.ts";
import { applySchedule } from "./schedules.ts";
import type { ApplyDeps } from "./schedules.ts";
import type { StartRunDeps } from "./start-run.ts";

const BATCH = 100;

/** Starts the runs of firings that wait, and makes Temporal's schedules what the triggers are. Any number of processes may do it. */
export function startTriggers(
  deps: StartRunDeps & ApplyDeps,
  intervalMs: number,
  onError: (error: unknown) => void,
): Periodic {
  return periodically(
    intervalMs,
    async (isClosed) => {
      await startDueFirings(deps, isClosed, onError);
      const changed = await deps.db.system((connection) => unappliedTriggers(connection, BATCH));
      await eachInTurn(changed, (trigger) => applySchedule(deps, trigger), { isClosed, onError });
    },
    onError,
  );
}
