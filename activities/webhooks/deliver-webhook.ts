import { cancellationSignal, heartbeat } from "@temporalio/activity";
import type { DeliveryInput, DeliveryStep } from "../../src/domain/webhooks/webhook.ts";
import type { WebhookActivities } from "../index.ts";

const HEARTBEAT_MS = 5000;

/** The activities of deliveries: `retry` does the work, which a worker that dies leaves to another one. */
export function createWebhookActivities(
  retry: (input: DeliveryInput, signal: AbortSignal) => Promise<DeliveryStep>,
): WebhookActivities {
  return {
    async attemptDelivery(input) {
      const alive = setInterval(() => heartbeat(), HEARTBEAT_MS);
      try {
        return await retry(input, cancellationSignal());
      } finally {
        clearInterval(alive);
      }
    },
  };
}
