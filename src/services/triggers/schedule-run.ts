import { digestId } from "../../domain/derived-id.ts";
import { Problem } from "../../domain/errors.ts";
import type { RunInput } from "../../domain/runs/run.ts";
import { NO_PLACE } from "../../domain/triggers/scheduled.ts";
import type { ScheduledInput } from "../../domain/triggers/trigger.ts";
import { firstIdOf } from "../../domain/uuid.ts";
import { dropFiring, recordFiring } from "../../stores/triggers/firings.ts";
import { findTrigger, noteTriggerError } from "../../stores/triggers/triggers.ts";
import { isNoPlace } from "../accounts/quotas.ts";
import { lasting, noteFault, startTriggeredRun } from "./start-run.ts";
import type { StartRunDeps } from "./start-run.ts";

/**
 * Inserts the run for one time of a schedule. Its id is derived from the trigger and the time, so repeated calls
 * insert it once. Returns the input of its workflow, which the caller starts; NO_PLACE if a limit is
 * reached for now, and null if no run is to be started.
 */
export function createScheduledRuns(deps: Omit<StartRunDeps, "starter" | "onStartDelayed">) {
  const inserting: StartRunDeps = {
    ...deps,
    starter: { start: async () => undefined },
    onStartDelayed: () => undefined,
  };
  return async function createScheduledRun({
    org_id,
    id,
    scheduled_at,
  }: Omit<ScheduledInput, "node_queue"> & { readonly scheduled_at: string }): Promise<
    Omit<RunInput, "plan"> | typeof NO_PLACE | null
  > {
    const trigger = await deps.db.org(org_id, (connection) => findTrigger(connection, id));
    if (trigger?.enabled !== true) return null;
    const run_id = scheduledRunId(id, scheduled_at);
    const firing = { run_id, org_id, trigger_id: id, key: scheduled_at, depth: 0 };
    await deps.db.org(org_id, (connection) => recordFiring(connection, firing));
    try {
      const run = await startTriggeredRun(inserting, trigger, run_id, { scheduled_at });
      return run.state === "PENDING" ? await deps.startInputs.open(run) : null;
    } catch (error) {
      // Its workflow waits and retries. A retry here would occupy a step of that workflow.
      if (error instanceof Problem && isNoPlace(error)) {
        await deps.db.org(org_id, async (connection) => {
          await noteTriggerError(connection, id, error.message);
          await dropFiring(connection, run_id);
        });
        return NO_PLACE;
      }
      await noteFault(deps.db, trigger, run_id, lasting(error));
      return null;
    }
  };
}

function scheduledRunId(id: string, scheduledAt: string): string {
  return digestId(firstIdOf(Date.parse(scheduledAt)), `${id} ${scheduledAt}`);
}
