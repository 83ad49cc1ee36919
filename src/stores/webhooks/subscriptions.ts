import type { DisabledReason, SubscriptionStatus } from "../../domain/webhooks/webhook.ts";
import { columns, type RowOf } from "../columns.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";
import { eventType } from "../outbox.ts";
import { timeText } from "../time-text.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`subscription_id uuid, org_id uuid, url text, events text[], project_ids uuid[] null,
  description text, header_names text[], status text, disabled_reason text null, disabled_at timestamptz null,
  failing_since timestamptz null, failed_attempts int, last_success_at timestamptz null,
  last_failure_at timestamptz null, previous_secret_until timestamptz null, revision int, created_at timestamptz,
  updated_at timestamptz`);

export interface WebhookSubscription extends RowOf<typeof ROW> {
  /** Patterns: types, `prefix.*`, `*`. */
  readonly events: string[];
  /** `null` means events of every project, and events without a project. */
  readonly project_ids: string[] | null;
  /** The names of the extra headers; their values are sealed. */
  readonly header_names: string[];
  readonly status: SubscriptionStatus;
  readonly disabled_reason: DisabledReason | null;
  /** Increases with every change that a user makes. */
  readonly revision: number;
}

export interface NewSubscription extends Pick<
  WebhookSubscription,
  "subscription_id" | "org_id" | "url" | "description"
> {
  readonly events: readonly string[];
  readonly project_ids: readonly string[] | null;
  readonly header_names: readonly string[];
  readonly secret: Buffer;
  readonly headers: Buffer | null;
  readonly created_by: string;
}

const NEW = columns(`subscription_id uuid, org_id uuid, url text, events text[], project_ids uuid[], description text,
  secret bytea, headers bytea, header_names text[], created_by uuid`);
const CHANGED = columns(`url text, events text[], project_ids uuid[], description text, headers bytea,
  header_names text[]`);
const COLUMNS = ROW.select();
/** Deleted subscriptions keep their rows for their deliveries, but are hidden everywhere else. */
const LIVE = "org_id = current_org() and deleted_at is null";

/**
 * Adds a subscription, or gives an existing one with the same ID a new secret: if the response to its creation was lost, a retry returns a
 * valid secret. Null if it has been deleted since.
 */
export async function insertSubscription(db: Db, subscription: NewSubscription): Promise<WebhookSubscription | null> {
  return db.first(
    `insert into webhook_subscriptions ${NEW.into}
      on conflict (subscription_id) do update set secret = excluded.secret where webhook_subscriptions.deleted_at is null
      returning ${COLUMNS}`,
    NEW.values(subscription),
  );
}

export async function findSubscription(db: Db, subscriptionId: string): Promise<WebhookSubscription | null> {
  return db.first(`select ${COLUMNS} from webhook_subscriptions where subscription_id = $1::uuid and ${LIVE}`, [
    subscriptionId,
  ]);
}

/**
 * A subscription, locked until the transaction ends. Deliveries may be added meanwhile: a stronger lock would block rows that refer to it.
 */
export async function lockSubscription(db: Db, subscriptionId: string): Promise<WebhookSubscription | null> {
  return db.first(
    `select ${COLUMNS} from webhook_subscriptions where subscription_id = $1::uuid and ${LIVE} for no key update`,
    [subscriptionId],
  );
}

/** Undefined fields match every subscription. */
export interface SubscriptionFilters {
  readonly failing?: boolean | undefined;
}

/** A subscription that a person has disabled does not count as failing. */
const FAILING = `case status when 'enabled' then failing_since is not null else disabled_reason is distinct from 'manual' end`;

export async function listSubscriptions(
  db: Db,
  { failing }: SubscriptionFilters,
  page: Keyset,
): Promise<WebhookSubscription[]> {
  const select = `select ${COLUMNS} from webhook_subscriptions where ${LIVE}
      and ($1::boolean is null or (${FAILING}) = $1::boolean)`;
  return selectPage(db, page, "subscription_id", select, [failing ?? null]);
}

/** The fields that can be changed; undefined ones are not changed. Headers and their names change together. */
export interface SubscriptionChange {
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  readonly project_ids?: readonly string[] | null | undefined;
  readonly description?: string | undefined;
  readonly headers?: { readonly sealed: Buffer | null; readonly names: readonly string[] } | undefined;
}

/** The headers that a subscription's events are sent with, sealed. */
export async function sealedHeaders(db: Db, subscriptionId: string): Promise<Buffer | null> {
  return db.value(`select headers from webhook_subscriptions where subscription_id = $1::uuid and ${LIVE}`, [
    subscriptionId,
  ]);
}

export async function updateSubscription(
  db: Db,
  subscriptionId: string,
  change: SubscriptionChange,
): Promise<WebhookSubscription | null> {
  const { headers } = change;
  return db.first(
    // $2 tells whether an address is given. What was known of the old one says nothing about it.
    `update webhook_subscriptions set ${CHANGED.patch(2)},
        hold_until = case when $2::boolean and $3::text is distinct from url then null else hold_until end,
        revision = revision + 1, updated_at = now()
      where subscription_id = $1::uuid and ${LIVE} returning ${COLUMNS}`,
    [subscriptionId, ...CHANGED.given({ ...change, headers: headers?.sealed, header_names: headers?.names })],
  );
}

/** Enables a subscription again and clears its failures. */
export async function enableSubscription(db: Db, subscriptionId: string): Promise<WebhookSubscription | null> {
  return db.first(
    `update webhook_subscriptions set status = 'enabled', disabled_reason = null, disabled_at = null, hold_until = null,
        failing_since = null, failed_attempts = 0, revision = revision + 1, updated_at = now()
      where subscription_id = $1::uuid and ${LIVE} and status = 'disabled' returning ${COLUMNS}`,
    [subscriptionId],
  );
}

/**
 * Disables a subscription, ends its open deliveries and writes an event; false if it was not enabled. Events that it missed can be replayed
 * once it is enabled again. Call it in a transaction that has locked the subscription, because it must see the deliveries that other
 * transactions queued before.
 */
export async function disableSubscription(
  db: Db,
  subscriptionId: string,
  reason: DisabledReason,
  event: { event_id: string; detail: Readonly<Record<string, string | number | null>> },
): Promise<boolean> {
  return db.any(
    `
with disabled as (
  update webhook_subscriptions set status = 'disabled', disabled_reason = $2::text, disabled_at = now(), updated_at = now(),
    revision = revision + 1
  where subscription_id = $1::uuid and deleted_at is null and status = 'enabled'
  returning subscription_id, org_id, url, failing_since, failed_attempts
),
ended as (
  update webhook_deliveries set status = 'failed', failure_reason = case $2::text when 'gone' then 'gone' else 'subscription_disabled' end,
    next_attempt_at = null, updated_at = now(), finished_at = now()
  where subscription_id = (select subscription_id from disabled) and status in ('pending', 'retrying')
),
event as (
  insert into outbox (event_id, org_id, type, data)
  select $3::uuid, org_id, ${eventType("webhook.subscription.disabled")}, jsonb_build_object('subscription_id', subscription_id, 'url', url,
    'reason', $2::text, 'failed_attempts', failed_attempts,
    'failing_since', ${timeText("failing_since")}) || $4::jsonb
  from disabled
)
select subscription_id from disabled`,
    [subscriptionId, reason, event.event_id, jsonb(event.detail)],
  );
}

/** Hides a subscription forever and ends its deliveries; false if the subscription does not exist. Call it in a transaction. */
export async function deleteSubscription(db: Db, subscriptionId: string): Promise<boolean> {
  // A separate statement: the next one must begin after the lock, or it does not see deliveries that the previous holder of the lock
  // queued.
  if ((await lockSubscription(db, subscriptionId)) === null) return false;
  return db.any(
    `
with gone as (
  update webhook_subscriptions set deleted_at = now(), updated_at = now(), revision = revision + 1,
    -- Nothing is signed with them any more.
    secret = '', previous_secret = null, headers = null
  where subscription_id = $1::uuid and ${LIVE} returning subscription_id
),
ended as (
  update webhook_deliveries set status = 'failed', failure_reason = 'subscription_deleted', next_attempt_at = null,
    updated_at = now(), finished_at = now()
  where subscription_id = (select subscription_id from gone) and status in ('pending', 'retrying')
),
stopped as (
  update webhook_replays set finished_at = now() where subscription_id = (select subscription_id from gone) and finished_at is null
)
select subscription_id from gone`,
    [subscriptionId],
  );
}

/**
 * Replaces the current secret, which keeps signing until `graceMs` have passed. `rotationId` is stored, and a repeated rotation finds its
 * secret with `rotatedSecret`.
 */
export async function rotateSecret(
  db: Db,
  subscriptionId: string,
  rotationId: string,
  sealed: Buffer,
  graceMs: number,
): Promise<WebhookSubscription | null> {
  return db.first(
    `update webhook_subscriptions set previous_secret = secret,
        previous_secret_until = now() + make_interval(secs => $4::float8 / 1000), secret = $3::bytea, rotation_id = $2::uuid,
        revision = revision + 1, updated_at = now()
      where subscription_id = $1::uuid and ${LIVE} returning ${COLUMNS}`,
    [subscriptionId, rotationId, sealed, graceMs],
  );
}

/** The current secret, if this rotation set it: a second rotation would drop the secret that the receiver knows. */
export async function rotatedSecret(db: Db, subscriptionId: string, rotationId: string): Promise<Buffer | null> {
  return db.value(
    `select secret from webhook_subscriptions where subscription_id = $1::uuid and rotation_id = $2::uuid and ${LIVE}`,
    [subscriptionId, rotationId],
  );
}

/** The parts of a subscription that select its events. */
export type SubscriptionSelection = Pick<
  WebhookSubscription,
  "subscription_id" | "org_id" | "events" | "project_ids" | "created_at"
>;

/** The subscriptions of these organisations that may get events. System only. */
export function enabledSubscriptions(db: Db, orgIds: readonly string[]): Promise<SubscriptionSelection[]> {
  return db.query(
    `select subscription_id, org_id, events, project_ids, created_at from webhook_subscriptions
      where org_id = any ($1::uuid[]) and deleted_at is null and status = 'enabled'`,
    [orgIds],
  );
}

/** The parts of one subscription that select its events, for a transaction that has locked it; null unless it is enabled. System only. */
export async function findEnabledSubscription(db: Db, subscriptionId: string): Promise<SubscriptionSelection | null> {
  return db.first(
    `select subscription_id, org_id, events, project_ids, created_at from webhook_subscriptions
      where subscription_id = $1::uuid and deleted_at is null and status = 'enabled'`,
    [subscriptionId],
  );
}
