import { webhookSubscriptionOperations } from "./subscriptions.ts";
import { webhookDeliveryOperations } from "./deliveries.ts";

/** The operations of webhooks. */
export const webhooks = [...webhookSubscriptionOperations, ...webhookDeliveryOperations];
