import { z } from "zod";
import { DISABLED_REASONS, SUBSCRIPTION_STATUSES } from "../../domain/webhooks/webhook.ts";
import { asViewer, seesSecrets } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { maskAddress } from "../../platform/logging/literal-secrets.ts";
import { MASK } from "../../platform/logging/redaction.ts";
import type { WebhookSubscription } from "../../stores/webhooks/subscriptions.ts";
import { asDeclared } from "../http/as-declared.ts";

export const webhookSubscriptionSchema = z
  .object({
    subscription_id: z.uuid(),
    url: z.string().describe("For viewers without the values of its parameters."),
    events: z.array(z.string()).describe("Types of events, `prefix.*`, or `*`."),
    filter: z
      .object({ project_id: z.array(z.uuid()) })
      .nullable()
      .describe("Only events of these projects; null: all events, with or without a project."),
    description: z.string(),
    headers: z.record(z.string(), z.string()).describe("Sent along with each event. Their values are never shown."),
    status: z.enum(SUBSCRIPTION_STATUSES),
    disabled_reason: z
      .enum(DISABLED_REASONS)
      .nullable()
      .describe("`failing`: nothing but failures for long; `gone`: the receiver answered 410; `manual`: on request."),
    disabled_at: z.iso.datetime().nullable(),
    failing_since: z.iso.datetime().nullable().describe("Since when every attempt has failed."),
    failed_attempts: z.int().describe("How many attempts have failed since the last success."),
    last_success_at: z.iso.datetime().nullable().describe("To some seconds."),
    last_failure_at: z.iso.datetime().nullable(),
    previous_secret_expires_at: z.iso
      .datetime()
      .nullable()
      .describe("Until then deliveries are signed with the secret before the last rotation as well."),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "WebhookSubscription" });

const secret = z.string().describe("Signs the deliveries, by the rules of Standard Webhooks. Only this answer has it.");

export const newWebhookSubscriptionSchema = webhookSubscriptionSchema
  .extend({ secret })
  .meta({ id: "NewWebhookSubscription" });

export const webhookSecretSchema = z
  .object({
    subscription_id: z.uuid(),
    secret,
    previous_secret_expires_at: z.iso
      .datetime()
      .nullable()
      .describe("Until then deliveries are signed with the secret before as well."),
  })
  .meta({ id: "WebhookSecret" });

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
