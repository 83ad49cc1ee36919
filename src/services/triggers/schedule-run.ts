import { digestId } from "../../domain/derived-id.ts";
import { Problem } from "../../domain/errors.ts";
import type { RunInput } from "../../domain/runs/run.ts";
import { NO_PLACE } from "../../domain/triggers/scheduled.ts";
import type { ScheduledInput } from "../../domain/triggers/trigger.ts";
import { firstIdOf } from "../../domain/uuid.ts";
import { recordFiring } from "../../stores/triggers/firings.ts";
import { findTrigger } from "../../stores/triggers/triggers.ts";
import { isNoPlace } from "../accounts/quotas.ts";
import { noteWaits, startFiring, type StartRunDeps } from "./start-run.ts";

/**
 * Inserts the run for one firing of a schedule. Its ID is derived from the trigger and the time, so repeated calls
 * insert it once. Returns the input of its workflow, which the caller starts; NO_PLACE if a limit is currently reached,
 * and null if there is no run to start.
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
      const started = await startFiring(inserting, { trigger, run_id, payload: { scheduled_at } });
      return "run" in started && started.run.state === "PENDING" ? await deps.startInputs.open(started.run) : null;
    } catch (error) {
      // The schedule's workflow waits and retries, because a retry here would occupy that workflow's step.
      if (!(error instanceof Problem && isNoPlace(error))) throw error;
      await noteWaits(deps, firing, error.message);
      return NO_PLACE;
    }
  };
}

function scheduledRunId(id: string, scheduledAt: string): string {
  return digestId(firstIdOf(Date.parse(scheduledAt)), `${id} ${scheduledAt}`);
}
