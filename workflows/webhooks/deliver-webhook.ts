import { continueAsNew, sleep } from "@temporalio/workflow";
import type { DeliveryInput, DeliveryStep } from "../../src/domain/webhooks/webhook.ts";
import { webhooks } from "../activities.ts";

/** Steps after which the history begins anew: a delivery that is put off again and again must not grow without end. */
const STEPS = 100;

/**
 * Makes the further attempts of a delivery whose first one failed: waits, attempts, and again, until the delivery has
 * ended. What counts is the delivery's row; this only outlives the processes.
 */
export async function deliverWebhook(
  input: DeliveryInput & { readonly delay_ms: number; readonly activity_queue: string },
): Promise<void> {
  const { delay_ms: first, activity_queue, ...delivery } = input;
  const { attemptDelivery } = webhooks(activity_queue);
  let next: DeliveryInput = delivery;
  let delay = first;
  for (let step = 0; step < STEPS; step += 1) {
    if (delay > 0) await sleep(delay);
    const result: DeliveryStep = await attemptDelivery(next);
    if (result.done) return;
    next = { ...delivery, attempt: result.attempt, postponed: result.postponed };
    delay = result.delay_ms;
  }
  await continueAsNew<typeof deliverWebhook>({ ...next, delay_ms: delay, activity_queue });
}
