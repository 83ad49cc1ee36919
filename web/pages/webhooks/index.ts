import { page } from "../../page.ts";

export const webhooks = [
  page("/webhooks", "Webhooks", async () => (await import("./webhooks-page.tsx")).WebhooksPage, {
    group: "Operate",
    icon: "webhooks",
    role: "viewer",
  }),
  page("/webhooks/:subscriptionId", "Webhook", async () => (await import("./webhook-page.tsx")).WebhookPage),
];
