import { webhookSubscriptionOperations } from "./subscriptions.ts";
import { webhookDeliveryOperations } from "./deliveries.ts";

export const webhooks = [...webhookSubscriptionOperations, ...webhookDeliveryOperations];
