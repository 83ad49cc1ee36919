import { Problem, invalid, required } from "../../domain/errors.ts";
import { findFiring, recordFiring } from "../../stores/triggers/firings.ts";
import type { TriggerRow } from "../../stores/triggers/triggers.ts";
import { placeOfFiring } from "./chain.ts";
import { fire } from "./receive.ts";
import type { StartRunDeps } from "./start-run.ts";

export interface RepeatRequest {
  readonly firing_id: string;
  /** The ID of the new firing and of its run. */
  readonly run_id: string;
  /** The run that sent the request, if a run did. */
  readonly caller: string | undefined;
  /** The key of the request, if any, whose quotas count the run. */
  readonly key_id: string | null;
}

/**
 * Fires a trigger again with the payload of an earlier firing and the trigger's current expressions, even if it is
 * disabled. Throws 404, 409 while the earlier firing waits or if its payload is not kept, 422 and 429.
 */
export async function repeatFiring(
  deps: StartRunDeps,
  trigger: TriggerRow,
  { firing_id, run_id, caller, key_id }: RepeatRequest,
): Promise<void> {
  const { org_id, id } = trigger;
  const payload = await deps.db.org(org_id, async (connection) => {
    const firing = required(await findFiring(connection, id, firing_id), "firing");
    if (firing.state === "pending")
      throw new Problem("conflict", "The firing is still pending: its run may still start.");
    if (firing.payload === null)
      throw new Problem(
        "conflict",
        "The firing's payload was not kept, because it is long or the flow masks values. Rerun its run instead.",
      );
    const place = await placeOfFiring(connection, caller, run_id, deps.limits.max_nested_runs);
    const { depth = 0, root } = place ?? {};
    const key = `repeat ${run_id}`;
    await recordFiring(connection, { run_id, org_id, trigger_id: id, key, depth, root, repeat_of: firing_id });
    return firing.payload;
  });
  const fault = await fire(deps, { trigger, run_id, payload, key_id });
  if (fault !== null) throw invalid(["path", "firing_id"], fault);
}
