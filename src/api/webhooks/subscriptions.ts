import { uuidv7 } from "uuidv7";
import { z } from "zod";
import type { Principal } from "../../domain/accounts/principal.ts";
import { distinct } from "../../domain/distinct.ts";
import { Problem, ValidationProblem, notFound, required } from "../../domain/errors.ts";
import { MAX_SUBSCRIPTIONS } from "../../domain/webhooks/webhook.ts";
import { patched } from "../../domain/patch.ts";
import { newWebhookSecret } from "../../domain/webhooks/webhook-signature.ts";
import { unlessBroken } from "../../platform/secrets/seal.ts";
import type { Db } from "../../stores/db.ts";
import { recordCreated, recordDeleted } from "../../services/audit/audit.ts";
import { changeLocked } from "../../services/change.ts";
import { requireRoom } from "../../services/require-room.ts";
import {
  deleteSubscription,
  disableSubscription,
  enableSubscription,
  findSubscription,
  insertSubscription,
  listSubscriptions,
  lockSubscription,
  rotateSecret,
  rotatedSecret,
  sealedHeaders,
  updateSubscription,
  type SubscriptionChange,
  type WebhookSubscription,
} from "../../stores/webhooks/subscriptions.ts";
import { openHeaders, openSecret, sealHeaders, sealSecret } from "../../services/webhooks/subscription-secrets.ts";
import type { HandlerDeps } from "../deps.ts";
import { ETAG, asCreated, ifMatchHeaders, matchesRevision, revisionTag, tagged } from "../http/etag.ts";
import { listPage, listQuery, pageOf } from "../http/list.ts";
import { created, operationsOf, linkTo } from "../http/operation.ts";
import { pathId } from "../http/schemas.ts";
import {
  newWebhookSubscriptionSchema,
  auditedAs,
  presentSecret,
  presentSubscription,
  webhookSecretSchema,
  webhookSubscriptionSchema,
} from "./subscription-presenter.ts";
import { changeBody, createBody, lowerCased, projectIssues, refusalOfUrl, sentHeaders } from "./webhook-body.ts";

const SUBSCRIPTION = "webhook subscription";
export const subscriptionParams = z.object({ subscription_id: pathId(SUBSCRIPTION) });

const LINKS = {
  get: linkTo("getWebhookSubscription", ["subscription_id"]),
  test: linkTo("testWebhookSubscription", ["subscription_id"]),
  deliveries: linkTo("listWebhookDeliveries", ["subscription_id"]),
};

/** A subscription. Throws 404 if it does not exist. */
export async function requireSubscription(db: Db, subscriptionId: string): Promise<WebhookSubscription> {
  return required(await findSubscription(db, subscriptionId), SUBSCRIPTION);
}

/** A subscription, locked until the transaction ends. Throws 404 if it does not exist. */
async function requireLocked(db: Db, subscriptionId: string): Promise<WebhookSubscription> {
  return required(await lockSubscription(db, subscriptionId), SUBSCRIPTION);
}

/** A locked subscription. Throws 409 if it is disabled. */
export async function lockEnabled(db: Db, subscriptionId: string): Promise<WebhookSubscription> {
  const subscription = await requireLocked(db, subscriptionId);
  if (subscription.status !== "disabled") return subscription;
  throw new Problem("subscription_disabled", "The webhook is disabled. Enable it to receive events.");
}

const shown = (subscription: WebhookSubscription, reader: Principal) =>
  tagged(presentSubscription(subscription, reader), revisionTag(subscription.revision));

/** Throws a 422 with all errors that only the network and the database can show. */
async function requireReachable(
  { db, guardedFetch }: HandlerDeps,
  orgId: string,
  { url, projectIds }: { url: string | undefined; projectIds: readonly string[] | undefined },
): Promise<void> {
  const [refused, unknown] = await Promise.all([
    url === undefined ? [] : guardedFetch.check(url).then(() => [], refusalOfUrl),
    projectIds === undefined ? [] : projectIssues(db, orgId, projectIds),
  ]);
  const issues = [...refused, ...unknown];
  if (issues.length > 0) throw new ValidationProblem(issues);
}

export const define = operationsOf({ tag: "Webhooks", auth: "secret" });

/** `/v2/webhooks/subscriptions`: who receives events. Only admins change them, because they send events out of the installation. */
export const webhookSubscriptionOperations = [
  define({
    role: "admin",
    id: "createWebhookSubscription",
    route: "POST /v2/webhooks/subscriptions",
    summary: "Subscribe to events",
    description:
      "Creates a webhook subscription. Each event is sent as a signed POST (Standard Webhooks) until the receiver returns 2xx or all attempts have failed.",
    body: createBody,
    idempotent: true,
    confidential: true,
    problems: ["not_found", "conflict"],
    examples: {
      runs: { url: "https://example.com/hooks/millrace", events: ["run.*"] },
      narrow: {
        url: "https://example.com/hooks/millrace",
        events: ["run.failed", "connection.error"],
        filter: { project_id: ["0197f0a0-0000-7000-8000-000000000000"] },
        description: "Tells the people on duty",
        headers: { "x-gateway-key": "..." },
      },
    },
    success: { 201: created("The subscription, with its secret.", newWebhookSubscriptionSchema, LINKS, ETAG) },
    async handler({ body, principal, newId, requireHeld, audit }, deps) {
      const { db, secrets } = deps;
      const { org_id } = principal;
      const projectIds = body.filter?.project_id;
      await requireReachable(deps, org_id, { url: body.url, projectIds });
      const subscription_id = newId();
      const secret = newWebhookSecret();
      const headers = lowerCased(body.headers ?? {});
      const subscription = await db.orgTransaction(org_id, async (connection) => {
        await requireHeld(connection);
        await requireRoom(connection, "webhooks", subscription_id, MAX_SUBSCRIPTIONS);
        const created = await insertSubscription(connection, {
          subscription_id,
          org_id,
          url: body.url,
          events: body.events,
          project_ids: projectIds === undefined ? null : distinct(projectIds),
          description: body.description,
          secret: sealSecret(secrets, subscription_id, secret),
          headers: sealHeaders(secrets, subscription_id, headers),
          header_names: Object.keys(headers),
          created_by: principal.id,
        });
        const seen = { audit, ...auditedAs(subscription_id, principal), secrets: ["secret"] };
        if (created) await recordCreated(connection, seen, created);
        return created;
      });
      // An earlier attempt of the same request created it, and it has been deleted since.
      if (!subscription) throw notFound(SUBSCRIPTION);
      const answer = asCreated(shown(subscription, principal), `/v2/webhooks/subscriptions/${subscription_id}`);
      return { ...answer, body: { ...answer.body, secret } };
    },
  }),
  define({
    id: "listWebhookSubscriptions",
    route: "GET /v2/webhooks/subscriptions",
    summary: "List webhook subscriptions",
    description: "Lists webhook subscriptions, newest first, without their secrets.",
    query: listQuery.extend({
      failing: z
        .boolean()
        .optional()
        .describe(
          "`true` returns webhooks whose every attempt has failed since `failing_since`, or that were disabled for that. Webhooks disabled by a person are excluded.",
        ),
    }),
    success: { 200: { description: "A page of subscriptions.", schema: pageOf(webhookSubscriptionSchema) } },
    async handler({ query, principal }, { reads }) {
      const { org_id } = principal;
      const filters = { failing: query.failing };
      return listPage("webhook-subscriptions", org_id, query, {
        filters,
        fetch: (keyset) => reads.org(org_id, (connection) => listSubscriptions(connection, filters, keyset)),
        idOf: (subscription) => subscription.subscription_id,
        present: (subscription) => presentSubscription(subscription, principal),
      });
    },
  }),
  define({
    id: "getWebhookSubscription",
    route: "GET /v2/webhooks/subscriptions/{subscription_id}",
    summary: "Get a webhook subscription",
    description: "Returns the subscription without its secret. The secret is shown only when it is created or rotated.",
    params: subscriptionParams,
    success: { 200: { description: "The subscription.", schema: webhookSubscriptionSchema, headers: ETAG } },
    async handler({ params: { subscription_id }, principal }, { db }) {
      const find = (connection: Db) => requireSubscription(connection, subscription_id);
      return shown(await db.org(principal.org_id, find), principal);
    },
  }),
  define({
    role: "admin",
    id: "changeWebhookSubscription",
    route: "PATCH /v2/webhooks/subscriptions/{subscription_id}",
    summary: "Change a webhook subscription",
    description:
      "Changes, disables or enables a subscription. Omitted fields keep their values. After you enable it, events are delivered from the next one on; replay the earlier ones.",
    params: subscriptionParams,
    headers: ifMatchHeaders,
    body: changeBody,
    examples: {
      move: { url: "https://example.com/hooks/new" },
      disable: { status: "disabled" },
      widen: { events: ["*"], filter: null },
    },
    success: { 200: { description: "The updated subscription.", schema: webhookSubscriptionSchema, headers: ETAG } },
    async handler({ params: { subscription_id }, headers, body, principal, audit }, deps) {
      const { db, secrets } = deps;
      const { org_id } = principal;
      const projectIds = body.filter === null ? null : body.filter?.project_id;
      // Checked first: a missing subscription is a 404, whatever else is wrong.
      await db.org(org_id, (connection) => requireSubscription(connection, subscription_id));
      await requireReachable(deps, org_id, { url: body.url, projectIds: projectIds ?? undefined });
      const change: SubscriptionChange = {
        url: body.url,
        events: body.events,
        project_ids: projectIds && distinct(projectIds),
        description: body.description,
      };
      /** The headers after the change, validated together. */
      const headersAfter = async (connection: Db): Promise<SubscriptionChange["headers"]> => {
        if (body.headers === undefined) return undefined;
        const own = await sealedHeaders(connection, subscription_id);
        const present = unlessBroken(() => openHeaders(secrets, subscription_id, own)) ?? {};
        const sent = body.headers === null ? {} : patched(sentHeaders, "headers", present, lowerCased(body.headers));
        return { sealed: sealHeaders(secrets, subscription_id, sent), names: Object.keys(sent) };
      };
      const subscription = await changeLocked(db, org_id, {
        lock: (connection) => requireLocked(connection, subscription_id),
        requireMatch: matchesRevision(headers),
        audited: {
          audit,
          ...auditedAs(subscription_id, principal),
          secrets: body.headers === undefined ? [] : ["headers"],
        },
        async write(connection) {
          const whole = { ...change, headers: await headersAfter(connection) };
          if (Object.values(whole).some((member) => member !== undefined))
            await updateSubscription(connection, subscription_id, whole);
          if (body.status === "enabled") await enableSubscription(connection, subscription_id);
          if (body.status === "disabled")
            await disableSubscription(connection, subscription_id, "manual", { event_id: uuidv7(), detail: {} });
          return requireSubscription(connection, subscription_id);
        },
      });
      return shown(subscription, principal);
    },
  }),
  define({
    role: "admin",
    id: "deleteWebhookSubscription",
    route: "DELETE /v2/webhooks/subscriptions/{subscription_id}",
    summary: "Delete a webhook subscription",
    description: "Deletes the subscription and stops its pending deliveries. The secret is no longer used.",
    params: subscriptionParams,
    success: { 204: { description: "Deleted." } },
    async handler({ params: { subscription_id }, principal, audit }, { db }) {
      await db.orgTransaction(principal.org_id, async (connection) => {
        const found = await requireLocked(connection, subscription_id);
        await deleteSubscription(connection, subscription_id);
        await recordDeleted(connection, { audit, ...auditedAs(subscription_id, principal) }, found);
      });
    },
  }),
  define({
    role: "admin",
    id: "rotateWebhookSecret",
    route: "POST /v2/webhooks/subscriptions/{subscription_id}/rotate-secret",
    summary: "Rotate a webhook secret",
    description:
      "Replaces the secret and returns the new one. For a while each delivery carries two signatures, by the new and by the previous secret, so that the receiver can switch without missing events.",
    params: subscriptionParams,
    idempotent: true,
    confidential: true,
    success: { 200: { description: "The new secret.", schema: webhookSecretSchema } },
    async handler({ params: { subscription_id }, principal: { org_id }, newId, audit }, { config, db, secrets }) {
      const rotationId = newId();
      const grace = config.MILLRACE_WEBHOOK_SECRET_GRACE_MS;
      return db.orgTransaction(org_id, async (connection) => {
        const found = await requireLocked(connection, subscription_id);
        await audit(connection, { target: { type: "subscription", id: subscription_id }, secrets: ["secret"] });
        const sealed = await rotatedSecret(connection, subscription_id, rotationId);
        if (sealed) return { status: 200, body: presentSecret(found, openSecret(secrets, subscription_id, sealed)) };
        const secret = newWebhookSecret();
        const fresh = sealSecret(secrets, subscription_id, secret);
        const rotated = await rotateSecret(connection, subscription_id, rotationId, fresh, grace);
        return { status: 200, body: presentSecret(rotated ?? found, secret) };
      });
    },
  }),
];
