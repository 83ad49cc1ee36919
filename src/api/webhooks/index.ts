import type { CreateOperations } from "../deps.ts";
import { createWebhookSubscriptionOperations } from "./subscriptions.ts";
import { createWebhookDeliveryOperations } from "./deliveries.ts";

/** The operations of webhooks. */
export const webhooks: CreateOperations = [createWebhookSubscriptionOperations, createWebhookDeliveryOperations];
