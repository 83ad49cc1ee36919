import { invalid } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import { findTriggerType } from "../../domain/triggers/trigger.ts";
import type { TriggerRow } from "../../stores/triggers/triggers.ts";
import { startTriggeredRun, TriggerFault } from "./start-run.ts";
import type { StartableFiring, StartRunDeps } from "./start-run.ts";

/** Starts a run like the trigger would, with the given payload or a sample. It does not count as a firing. Throws 422 and 429. */
export async function testTrigger(
  deps: StartRunDeps,
  trigger: TriggerRow,
  {
    payload: given,
    ...asked
  }: Pick<StartableFiring, "run_id" | "key_id"> & { readonly payload?: JsonObject | undefined },
): Promise<{ run_id: string; payload: JsonObject }> {
  const payload = given ?? findTriggerType(trigger.provider_id, trigger.trigger_id)?.sample_payload ?? {};
  try {
    const { run_id } = await startTriggeredRun(deps, { ...asked, trigger, payload });
    return { run_id, payload };
  } catch (error) {
    if (!(error instanceof TriggerFault)) throw error;
    throw invalid(["body", "payload"], error.message);
  }
}
