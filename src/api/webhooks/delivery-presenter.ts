import { z } from "zod";
import { seesSecrets } from "../../domain/accounts/principal.ts";
import type { Principal } from "../../domain/accounts/principal.ts";
import { maskAddress, secretsOfAddress } from "../../platform/logging/literal-secrets.ts";
import { createMaskValues } from "../../platform/logging/mask-values.ts";
import { eventEnvelope, eventEnvelopeSchema, publicEventId } from "../../domain/webhooks/events.ts";
import { DELIVERY_STATUSES, FAILURE_REASONS } from "../../domain/webhooks/webhook.ts";
import type { OutboxEvent } from "../../stores/webhooks/outbox.ts";
import type { WebhookAttempt, WebhookDelivery } from "../../stores/webhooks/deliveries.ts";
import type { WebhookReplay } from "../../stores/webhooks/replays.ts";
import { asDeclared } from "../http/as-declared.ts";

export const webhookDeliverySchema = z
  .object({
    delivery_id: z.uuid(),
    subscription_id: z.uuid(),
    event_id: z.string().describe("`id` of the event and `webhook-id` of every attempt."),
    event_type: z.string(),
    status: z
      .enum(DELIVERY_STATUSES)
      .describe("`pending`: not attempted yet; `retrying`: an attempt failed and another follows."),
    failure_reason: z.enum(FAILURE_REASONS).nullable(),
    attempts: z.int(),
    next_attempt_at: z.iso
      .datetime()
      .nullable()
      .describe("Only for `retrying`. While an attempt is in progress: when the next one starts if it fails."),
    last_status_code: z.int().nullable().describe("Status of the response; `null` if there was none."),
    last_error: z.string().nullable(),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "WebhookDelivery" });

const webhookAttemptSchema = z
  .object({
    attempt: z.int().min(1),
    at: z.iso.datetime(),
    duration_ms: z.int(),
    url: z.string().describe("URL that was called, with secrets masked."),
    status_code: z.int().nullable().describe("Status of the response; `null` if there was none."),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    response_body: z.string().nullable().describe("The beginning of the response, with secrets masked."),
  })
  .meta({ id: "WebhookAttempt" });

export const webhookDeliveryDetailSchema = webhookDeliverySchema
  .extend({
    attempts_made: z.array(webhookAttemptSchema).describe("All attempts, oldest first."),
    event: eventEnvelopeSchema.describe("The event that is sent."),
  })
  .meta({ id: "WebhookDeliveryDetail" });

export const webhookReplaySchema = z
  .object({
    replay_id: z.uuid(),
    subscription_id: z.uuid(),
    since: z.iso.datetime(),
    until: z.iso.datetime(),
    events: z.array(z.string()),
    only_failed: z.boolean(),
    status: z.literal("running"),
  })
  .meta({ id: "WebhookReplay" });

export function presentDelivery(delivery: WebhookDelivery): z.infer<typeof webhookDeliverySchema> {
  return asDeclared(webhookDeliverySchema, {
    ...delivery,
    event_id: publicEventId(delivery.event_id),
    next_attempt_at: delivery.status === "retrying" ? delivery.next_attempt_at : null,
  });
}

export function presentDeliveryDetail(
  delivery: WebhookDelivery,
  attempts: readonly WebhookAttempt[],
  event: OutboxEvent,
  { baseUrl, reader, receiver }: { readonly baseUrl: string; readonly reader: Principal; readonly receiver: string },
): z.infer<typeof webhookDeliveryDetailSchema> {
  const address = (url: string): string => (seesSecrets(reader) ? url : maskAddress(url));
  // A receiver may repeat the URL that it was called with in its response.
  const secrets = [receiver, ...attempts.map(({ url }) => url)].flatMap(secretsOfAddress);
  const mask = seesSecrets(reader) ? (text: string) => text : createMaskValues(secrets);
  return {
    ...presentDelivery(delivery),
    last_error: delivery.last_error && mask(delivery.last_error),
    attempts_made: attempts.map((attempt) => presentAttempt(attempt, { address, mask })),
    event: eventEnvelope(event, baseUrl),
  };
}

function presentAttempt(
  attempt: WebhookAttempt,
  { address, mask }: { readonly address: (url: string) => string; readonly mask: (text: string) => string },
): z.infer<typeof webhookAttemptSchema> {
  const { error_code: code, error_message: message } = attempt;
  return asDeclared(webhookAttemptSchema, {
    ...attempt,
    url: address(attempt.url),
    error: code === null ? null : { code, message: mask(message ?? "") },
    response_body: attempt.response_body && mask(attempt.response_body),
  });
}

export function presentReplay(replay: WebhookReplay): z.infer<typeof webhookReplaySchema> {
  // The requested replay; the deliveries that it queues appear in the list of deliveries.
  return asDeclared(webhookReplaySchema, { ...replay, status: "running" });
}
