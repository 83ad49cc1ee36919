import { uuidv7 } from "uuidv7";
import { z } from "zod";
import { invalid, notFound, required } from "../../domain/errors.ts";
import {
  EVENT_TYPES,
  TEST_EVENT_TYPE,
  eventEnvelope,
  eventEnvelopeSchema,
  publicEventId,
} from "../../domain/webhooks/events.ts";
import { timestampOrAge, timeOrAgeText, timeText } from "../../domain/timestamps.ts";
import { UUID_PATTERN } from "../../domain/uuid.ts";
import { DELIVERY_STATUSES, FAILURE_REASONS } from "../../domain/webhooks/webhook.ts";
import type { Db } from "../../stores/db.ts";
import { insertEvent } from "../../stores/outbox.ts";
import { findEvent, type OutboxEvent } from "../../stores/webhooks/outbox.ts";
import {
  findDelivery,
  insertDeliveries,
  listAttempts,
  listDeliveries,
  retryDelivery,
  type DeliveryFilter,
  type WebhookDelivery,
  type WebhookAttempt,
} from "../../stores/webhooks/deliveries.ts";
import { insertReplay, type WebhookReplay } from "../../stores/webhooks/replays.ts";
import { seesSecrets, type Principal } from "../../domain/accounts/principal.ts";
import { maskAddress, secretsOfAddress } from "../../platform/logging/literal-secrets.ts";
import { createMaskValues } from "../../platform/logging/mask-values.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { linkTo } from "../http/operation.ts";
import { asDeclared, named, namedStrict, pathId } from "../http/schemas.ts";
import { eventPatterns } from "./webhook-body.ts";
import { lockEnabled, requireSubscription, subscriptionParams, define } from "./subscriptions.ts";

const webhookDeliverySchema = named("WebhookDelivery", {
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
});

const webhookAttemptSchema = named("WebhookAttempt", {
  attempt: z.int().min(1),
  at: z.iso.datetime(),
  duration_ms: z.int(),
  url: z.string().describe("URL that was called, with secrets masked."),
  status_code: z.int().nullable().describe("Status of the response; `null` if there was none."),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  response_body: z.string().nullable().describe("The beginning of the response, with secrets masked."),
});

const webhookDeliveryDetailSchema = named("WebhookDeliveryDetail", {
  ...webhookDeliverySchema.shape,
  attempts_made: z.array(webhookAttemptSchema).describe("All attempts, oldest first."),
  event: eventEnvelopeSchema.describe("The event that is sent."),
});

const webhookReplaySchema = named("WebhookReplay", {
  replay_id: z.uuid(),
  subscription_id: z.uuid(),
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  events: z.array(z.string()),
  only_failed: z.boolean(),
  status: z.literal("running"),
});

export function presentDelivery(delivery: WebhookDelivery): z.infer<typeof webhookDeliverySchema> {
  return asDeclared(webhookDeliverySchema, {
    ...delivery,
    event_id: publicEventId(delivery.event_id),
    next_attempt_at: delivery.status === "retrying" ? delivery.next_attempt_at : null,
  });
}

function presentDeliveryDetail(
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

function presentReplay(replay: WebhookReplay): z.infer<typeof webhookReplaySchema> {
  // The requested replay; the deliveries that it queues appear in the list of deliveries.
  return asDeclared(webhookReplaySchema, { ...replay, status: "running" });
}

const DELIVERY = "webhook delivery";
const deliveryParams = subscriptionParams.extend({ delivery_id: pathId(DELIVERY) });

const EVENT_ID = new RegExp(`^evt_(${UUID_PATTERN})$`, "i");
const TYPES: readonly string[] = [...EVENT_TYPES, TEST_EVENT_TYPE];

const filters = {
  status: z.enum(DELIVERY_STATUSES).optional(),
  event: z
    .string()
    .max(200)
    .refine((text) => TYPES.includes(text) || EVENT_ID.test(text), {
      error: `Must be an event type or an event ID (evt_...). The types are ${TYPES.join(", ")}`,
    })
    .optional()
    .describe("An event type, or the ID of one event: `evt_...`."),
  since: timeText.optional().describe("RFC 3339 time; inclusive."),
};

const replayBody = namedStrict("WebhookReplayCreate", {
  since: timeOrAgeText.describe("RFC 3339 time, or a duration before now (`PT1H`, `P7D`); inclusive."),
  until: timeOrAgeText.nullish().describe("RFC 3339 time, or a duration before now; exclusive. Default: now."),
  events: eventPatterns
    .nullish()
    .describe("Event types to replay. Default: the subscription's types; other types are never sent."),
  only_failed: z.boolean().default(false).describe("`true` skips events that were delivered."),
});

const LINKS = { get: linkTo("getWebhookDelivery", ["subscription_id", "delivery_id"]) };

/** Deliveries of webhook subscriptions, their attempts and redelivery. */
export const webhookDeliveryOperations = [
  define({
    id: "testWebhookSubscription",
    route: "POST /v2/webhooks/subscriptions/{subscription_id}/test",
    summary: "Send a test event to a webhook",
    description: `Sends an event of type \`${TEST_EVENT_TYPE}\`, which is signed and retried like any other event.`,
    params: subscriptionParams,
    idempotent: true,
    problems: ["subscription_disabled"],
    success: { 202: { description: "The delivery of the test event.", schema: webhookDeliverySchema, links: LINKS } },
    async handler({ params: { subscription_id }, principal: { org_id }, newId }, { db }) {
      const delivery_id = newId();
      const delivery = await db.orgTransaction(org_id, async (connection) => {
        await lockEnabled(connection, subscription_id);
        const made = await findDelivery(connection, subscription_id, delivery_id);
        if (made) return made;
        const event_id = uuidv7();
        const data = { subscription_id, message: "A test of this webhook subscription." };
        await insertEvent(connection, { event_id, org_id, type: TEST_EVENT_TYPE, data }, true);
        const addressed = { delivery_id, org_id, subscription_id, event_id, event_type: TEST_EVENT_TYPE };
        await insertDeliveries(connection, [addressed]);
        return requireDelivery(connection, subscription_id, delivery_id);
      });
      return { status: 202, body: presentDelivery(delivery) };
    },
  }),
  define({
    id: "listWebhookDeliveries",
    route: "GET /v2/webhooks/subscriptions/{subscription_id}/deliveries",
    summary: "List webhook deliveries",
    description: "Lists deliveries, newest first, one per event, with the outcome of the last attempt.",
    params: subscriptionParams,
    query: listQuery.extend(filters),
    success: { 200: { description: "A page of deliveries.", schema: pageOf(webhookDeliverySchema) } },
    async handler({ params: { subscription_id }, query, principal: { org_id } }, { db, reads }) {
      await db.org(org_id, (connection) => requireSubscription(connection, subscription_id));
      const event_id = EVENT_ID.exec(query.event ?? "")?.[1]?.toLowerCase() ?? null;
      const filter: DeliveryFilter = {
        status: query.status ?? null,
        event_id,
        event_type: event_id === null ? (query.event ?? null) : null,
        since: query.since ?? null,
      };
      return listPage("webhook-deliveries", org_id, query, {
        filters: { ...filter, subscription_id },
        fetch: (keyset) =>
          reads.org(org_id, (connection) => listDeliveries(connection, subscription_id, filter, keyset)),
        idOf: (delivery) => delivery.delivery_id,
        present: presentDelivery,
      });
    },
  }),
  define({
    id: "getWebhookDelivery",
    route: "GET /v2/webhooks/subscriptions/{subscription_id}/deliveries/{delivery_id}",
    summary: "Get a webhook delivery",
    description:
      "Returns the delivery with the event and every attempt: its time, status and the beginning of the response.",
    params: deliveryParams,
    success: { 200: { description: "The delivery, its attempts and the event.", schema: webhookDeliveryDetailSchema } },
    async handler({ params: { subscription_id, delivery_id }, principal }, { db, config }) {
      const body = await db.org(principal.org_id, async (connection) => {
        const { url: receiver } = await requireSubscription(connection, subscription_id);
        const delivery = await requireDelivery(connection, subscription_id, delivery_id);
        const attempts = await listAttempts(connection, delivery_id);
        const event = await findEvent(connection, delivery.event_id);
        // The event and the delivery were purged meanwhile, because their retention has expired.
        if (!event) throw notFound(DELIVERY);
        return presentDeliveryDetail(delivery, attempts, event, {
          baseUrl: config.MILLRACE_PUBLIC_URL ?? "",
          reader: principal,
          receiver,
        });
      });
      return { status: 200, body };
    },
  }),
  define({
    id: "retryWebhookDelivery",
    route: "POST /v2/webhooks/subscriptions/{subscription_id}/deliveries/{delivery_id}/retry",
    summary: "Redeliver an event",
    description:
      "Sends the delivery again immediately and restarts the retry schedule. Works for delivered events too.",
    params: deliveryParams,
    idempotent: true,
    problems: ["subscription_disabled"],
    success: { 202: { description: "The updated delivery.", schema: webhookDeliverySchema, links: LINKS } },
    async handler({ params: { subscription_id, delivery_id }, principal }, { db }) {
      const delivery = await db.orgTransaction(principal.org_id, async (connection) => {
        await requireSubscription(connection, subscription_id);
        await requireDelivery(connection, subscription_id, delivery_id);
        await lockEnabled(connection, subscription_id);
        return retryDelivery(connection, subscription_id, delivery_id);
      });
      if (!delivery) throw notFound(DELIVERY);
      return { status: 202, body: presentDelivery(delivery) };
    },
  }),
  define({
    id: "replayWebhookEvents",
    route: "POST /v2/webhooks/subscriptions/{subscription_id}/replay",
    summary: "Replay events",
    description:
      "Sends past events again that match the subscription's current settings, including events from before it was created or while it was disabled. Events keep their `webhook-id`, so that the receiver can recognise ones it already has. Deliveries in flight are not affected.",
    params: subscriptionParams,
    body: replayBody,
    idempotent: true,
    problems: ["subscription_disabled"],
    examples: {
      "what was missed": { since: "P7D", only_failed: true },
      "one hour": {
        since: "PT2H",
        until: "PT1H",
        events: ["run.failed", "run.cancelled"],
      },
    },
    success: { 202: { description: "The replay has started.", schema: webhookReplaySchema } },
    async handler({ params: { subscription_id }, body, principal: { org_id }, newId }, { db, config }) {
      const replay = await db.orgTransaction(org_id, async (connection) => {
        // Checked before the times: a missing subscription is a 404, whatever else is wrong.
        const subscription = await lockEnabled(connection, subscription_id);
        return insertReplay(connection, {
          replay_id: newId(),
          org_id,
          subscription_id,
          ...requireTimes(body.since, body.until ?? null, config.MILLRACE_EVENT_RETENTION_MS),
          events: body.events ?? subscription.events,
          only_failed: body.only_failed,
        });
      });
      return { status: 202, body: presentReplay(replay) };
    },
  }),
];

async function requireDelivery(db: Db, subscriptionId: string, deliveryId: string): Promise<WebhookDelivery> {
  return required(await findDelivery(db, subscriptionId, deliveryId), DELIVERY);
}

/** The range of a replay. Throws 422 for an empty range, or for one that begins before the oldest stored event. */
function requireTimes(since: string, until: string | null, retentionMs: number): { since: string; until: string } {
  const now = Date.now();
  const range = {
    since: timestampOrAge(since, now),
    until: until === null ? new Date(now).toISOString() : timestampOrAge(until, now),
  };
  const oldest = now - retentionMs;
  if (Date.parse(range.since) < oldest) {
    throw invalid(
      ["body", "since"],
      `Events are kept for ${lengthOf(retentionMs)}: since can be at the earliest ${new Date(oldest).toISOString()}`,
    );
  }
  if (range.since >= range.until) {
    if (until !== null) throw invalid(["body", "until"], "until must be later than since");
    throw invalid(["body", "since"], "since must be in the past");
  }
  return range;
}

function lengthOf(ms: number): string {
  const units = [
    [86_400_000, "days"],
    [3_600_000, "hours"],
    [60_000, "minutes"],
  ] as const;
  const [size, name] = units.find(([unit]) => ms >= unit && ms % unit === 0) ?? [1000, "seconds"];
  return `${Math.floor(ms / size)} ${name}`;
}
