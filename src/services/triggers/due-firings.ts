import { Problem } from "../../domain/errors.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { BlobNotFound, loadValue } from "../../platform/blobs/blobs.ts";
import { dropFiring, finishFiring, takeDueFirings } from "../../stores/triggers/firings.ts";
import type { DueFiring } from "../../stores/triggers/firings.ts";
import { findTrigger } from "../../stores/triggers/triggers.ts";
import { requireRun } from "../runs/require-run.ts";
import { noteFault, startTriggeredRun, TriggerFault } from "./start-run.ts";
import type { StartRunDeps } from "./start-run.ts";

const BATCH = 50;

/**
 * Starts the runs of due firings: one after the other within an organisation, organisations in parallel. Transient failures
 * are retried later.
 */
export async function startDueFirings(
  deps: StartRunDeps,
  isClosed: () => boolean,
  onError: (error: unknown) => void,
): Promise<void> {
  for (;;) {
    const due = await deps.db.system((connection) => takeDueFirings(connection, BATCH));
    if (due.length === 0 || isClosed()) return;
    const startAll = async (org_id: string): Promise<void> => {
      for (const firing of due) {
        if (firing.org_id === org_id && !isClosed()) await startDue(deps, firing).catch(onError);
      }
    };
    await Promise.all([...new Set(due.map(({ org_id }) => org_id))].map(startAll));
  }
}

async function startDue(deps: StartRunDeps, firing: DueFiring): Promise<void> {
  const { org_id, trigger_id, run_id } = firing;
  const trigger = await deps.db.org(org_id, (connection) => findTrigger(connection, trigger_id));
  if (trigger?.enabled !== true) {
    await deps.db.org(org_id, (connection) => dropFiring(connection, run_id));
    return;
  }
  try {
    await startTriggeredRun(deps, trigger, run_id, await payloadOf(deps, firing));
  } catch (error) {
    await noteFault(deps.db, trigger, run_id, error);
  }
  await deps.db.org(org_id, (connection) => finishFiring(connection, run_id));
}

/** With the outputs that were too long to be carried by the event. */
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
    throw new TriggerFault(`The run ${run_id} that it waited for has been removed.`, { cause: error });
  }
}
