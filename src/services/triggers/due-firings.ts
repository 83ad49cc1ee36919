import { Problem } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { BlobNotFound, loadValue } from "../../platform/blobs/blobs.ts";
import { failFiring, takeDueFirings, type DueFiring } from "../../stores/triggers/firings.ts";
import { findTrigger } from "../../stores/triggers/triggers.ts";
import { isNoPlace } from "../accounts/quotas.ts";
import type { StartInBackground } from "../runs/background-starts.ts";
import { requireRun } from "../runs/require-run.ts";
import { noteFailed, noteWaits, startFiring, TriggerFault, type StartRunDeps } from "./start-run.ts";
import { periodically, type Periodic } from "../../platform/periodically.ts";

const BATCH = 50;
/** Most organisations whose firings one process starts concurrently. */
const MOST_AT_ONCE = 20;

export interface DueFiringsDeps extends StartRunDeps {
  readonly startInBackground: StartInBackground;
}

/**
 * Starts the runs of due firings: one after the other within an organisation, and concurrently across organisations, so
 * that a slow one delays no other. Transient failures are retried later. Any number of processes may run it.
 */
export function startTriggers(deps: DueFiringsDeps, intervalMs: number, onError: (error: unknown) => void): Periodic {
  const busy = new Map<string, Promise<void>>();

  async function startAll(firings: readonly DueFiring[], isClosed: () => boolean): Promise<void> {
    for (const firing of firings) {
      if (isClosed()) return;
      await deps.startInBackground(() => startDue(deps, firing).catch(onError));
    }
  }

  const periodic = periodically(
    intervalMs,
    async (isClosed) => {
      while (!isClosed()) {
        if (busy.size >= MOST_AT_ONCE) await Promise.race(busy.values());
        const room = Math.min(BATCH, MOST_AT_ONCE - busy.size);
        const due = await deps.db.system((connection) => takeDueFirings(connection, room, [...busy.keys()]));
        if (due.length === 0) return;
        for (const orgId of new Set(due.map(({ org_id }) => org_id))) {
          const firings = due.filter(({ org_id }) => org_id === orgId);
          const started = startAll(firings, isClosed).finally(() => {
            busy.delete(orgId);
            // More firings of the organisation may be due.
            periodic.wake();
          });
          busy.set(orgId, started);
        }
      }
    },
    onError,
  );
  return {
    wake: () => periodic.wake(),
    async close() {
      await periodic.close();
      await Promise.all(busy.values());
    },
  };
}

async function startDue(deps: StartRunDeps, firing: DueFiring): Promise<void> {
  const { org_id, trigger_id, run_id } = firing;
  const trigger = await deps.db.org(org_id, (connection) => findTrigger(connection, trigger_id));
  if (trigger?.enabled !== true) {
    const message = "The trigger was disabled or deleted before the run was started.";
    await deps.db.org(org_id, (connection) => failFiring(connection, run_id, message, firing.payload));
    return;
  }
  try {
    await startFiring(deps, { trigger, run_id, payload: await payloadOf(deps, firing) });
  } catch (error) {
    if (error instanceof TriggerFault) return noteFailed(deps, { ...firing, trigger }, error.message);
    // The firing waits and is retried.
    if (error instanceof Problem && isNoPlace(error)) await noteWaits(deps, firing, error.message);
    throw error;
  }
}

/** Adds the outputs that were too long for the event. */
async function payloadOf({ db, blobs }: StartRunDeps, { org_id, payload }: DueFiring): Promise<JsonObject> {
  const { run_id } = payload;
  if (typeof run_id !== "string" || payload["outputs"] !== undefined) return payload;
  try {
    const run = await requireRun(db, org_id, run_id);
    const outputs: Record<string, Json> = {};
    for (const [node, value] of Object.entries(run.outputs ?? {})) outputs[node] = await loadValue(blobs, value);
    return { ...payload, outputs };
  } catch (error) {
    if (!(error instanceof BlobNotFound || (error instanceof Problem && error.status === 404))) throw error;
    throw new TriggerFault(`The run ${run_id} that this firing waited for was deleted.`, { cause: error });
  }
}
