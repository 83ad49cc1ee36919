import { z } from "zod";
import { DISABLED_REASONS, SUBSCRIPTION_STATUSES } from "../../domain/webhooks/webhook.ts";
import { asViewer, seesSecrets, type Principal } from "../../domain/accounts/principal.ts";
import { maskAddress } from "../../platform/logging/literal-secrets.ts";
import { MASK } from "../../platform/logging/redaction.ts";
import type { WebhookSubscription } from "../../stores/webhooks/subscriptions.ts";
import { asDeclared, named } from "../http/schemas.ts";

export const webhookSubscriptionSchema = named("WebhookSubscription", {
  subscription_id: z.uuid(),
  url: z.string().describe("URL that events are sent to. Viewers see it without the values of its query parameters."),
  events: z.array(z.string()).describe("Event types, `prefix.*`, or `*` for all."),
  filter: z
    .object({ project_id: z.array(z.uuid()) })
    .nullable()
    .describe("Only events of these projects. `null` means all events, also events without a project."),
  description: z.string(),
  headers: z.record(z.string(), z.string()).describe("Headers sent with each event. Their values are never returned."),
  status: z.enum(SUBSCRIPTION_STATUSES),
  disabled_reason: z
    .enum(DISABLED_REASONS)
    .nullable()
    .describe(
      "`failing`: every attempt failed for a long time; `gone`: the receiver returned 410; `manual`: disabled on request.",
    ),
  disabled_at: z.iso.datetime().nullable(),
  failing_since: z.iso
    .datetime()
    .nullable()
    .describe("Time since which every attempt has failed; `null` if the last one succeeded."),
  failed_attempts: z.int().describe("Number of failed attempts since the last success."),
  last_success_at: z.iso
    .datetime()
    .nullable()
    .describe("Time of the last successful delivery, accurate to a few seconds."),
  last_failure_at: z.iso.datetime().nullable(),
  previous_secret_expires_at: z.iso
    .datetime()
    .nullable()
    .describe("Until this time deliveries are also signed with the secret from before the last rotation."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

const secret = z.string().describe("Signs the deliveries (Standard Webhooks). Only this response contains it.");

export const newWebhookSubscriptionSchema = named("NewWebhookSubscription", {
  ...webhookSubscriptionSchema.shape,
  secret,
});

export const webhookSecretSchema = named("WebhookSecret", {
  subscription_id: z.uuid(),
  secret,
  previous_secret_expires_at: z.iso
    .datetime()
    .nullable()
    .describe("Until this time deliveries are also signed with the previous secret."),
});

export function presentSubscription(
  subscription: WebhookSubscription,
  reader: Principal,
): z.infer<typeof webhookSubscriptionSchema> {
  return asDeclared(webhookSubscriptionSchema, {
    ...subscription,
    url: seesSecrets(reader) ? subscription.url : maskAddress(subscription.url),
    filter: subscription.project_ids && { project_id: subscription.project_ids },
    headers: Object.fromEntries(subscription.header_names.map((name) => [name, MASK])),
    previous_secret_expires_at: stillSigning(subscription),
  });
}

export function presentSecret(subscription: WebhookSubscription, text: string): z.infer<typeof webhookSecretSchema> {
  return {
    subscription_id: subscription.subscription_id,
    secret: text,
    previous_secret_expires_at: stillSigning(subscription),
  };
}

/** How long the previous secret still signs; null once it no longer does. */
function stillSigning({ previous_secret_until: until }: WebhookSubscription): string | null {
  return until !== null && Date.parse(until) > Date.now() ? until : null;
}

/** What the audit log shows of a subscription. */
export const auditedAs = (id: string, principal: Principal) => ({
  target: { type: "subscription", id },
  view: (row: WebhookSubscription) => presentSubscription(row, asViewer(principal)),
});
