import type { AttemptResult, DeliveryStatus, DeliveryVerdict, FailureReason } from "../../domain/webhooks/webhook.ts";
import type { OutboxEvent } from "./outbox.ts";
import type { Db } from "../db.ts";
import { keysetSql } from "../keyset.ts";
import type { Keyset } from "../keyset.ts";

export interface WebhookDelivery {
  readonly delivery_id: string;
  readonly subscription_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: DeliveryStatus;
  readonly failure_reason: FailureReason | null;
  readonly round: number;
  /** Attempts of this round. */
  readonly tries: number;
  /** Attempts of all rounds. */
  readonly attempts: number;
  readonly next_attempt_at: string | null;
  readonly last_status_code: number | null;
  readonly last_error: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
}

export interface WebhookAttempt {
  readonly attempt: number;
  readonly at: string;
  readonly duration_ms: number;
  readonly url: string;
  readonly status_code: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly response_body: string | null;
}

const COLUMNS = `delivery_id, subscription_id, event_id, event_type, status, failure_reason, round, tries, attempts, next_attempt_at,
  last_status_code, last_error, created_at, finished_at`;

/** One event for one subscription. */
export interface NewDelivery {
  readonly delivery_id: string;
  readonly org_id: string;
  readonly subscription_id: string;
  readonly event_id: string;
  readonly event_type: string;
}

/** Queues deliveries; one that an event has for the subscription already stays as it is. */
export async function insertDeliveries(db: Db, deliveries: readonly NewDelivery[]): Promise<void> {
  await db.query(
    {
      name: "insert_webhook_deliveries",
      text: `insert into webhook_deliveries (delivery_id, org_id, subscription_id, event_id, event_type)
        select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[])
        on conflict (event_id, subscription_id) do nothing`,
    },
    columnsOf(deliveries),
  );
}

/**
 * Queues deliveries once more: those there were none of, those that failed and, unless `onlyFailed`, those that were
 * delivered. What is under way goes on. Answers how many were queued.
 */
export async function requeueDeliveries(
  db: Db,
  deliveries: readonly NewDelivery[],
  onlyFailed: boolean,
): Promise<number> {
  const rows = await db.query(
    {
      name: "requeue_webhook_deliveries",
      text: `insert into webhook_deliveries (delivery_id, org_id, subscription_id, event_id, event_type)
        select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[])
        on conflict (event_id, subscription_id) do update set status = 'pending', failure_reason = null, tries = 0,
          round = webhook_deliveries.round + 1, next_attempt_at = null, leased_until = null, finished_at = null, updated_at = now()
        where webhook_deliveries.status = 'failed' or webhook_deliveries.status = 'delivered' and not $6::boolean
        returning delivery_id`,
    },
    [...columnsOf(deliveries), onlyFailed],
  );
  return rows.length;
}

function columnsOf(deliveries: readonly NewDelivery[]): string[][] {
  return [
    deliveries.map((each) => each.delivery_id),
    deliveries.map((each) => each.org_id),
    deliveries.map((each) => each.subscription_id),
    deliveries.map((each) => each.event_id),
    deliveries.map((each) => each.event_type),
  ];
}

export async function findDelivery(
  db: Db,
  subscriptionId: string,
  deliveryId: string,
): Promise<WebhookDelivery | null> {
  const rows = await db.query<WebhookDelivery>(
    {
      name: "find_webhook_delivery",
      text: `select ${COLUMNS} from webhook_deliveries
        where org_id = current_org() and delivery_id = $2::uuid and subscription_id = $1::uuid`,
    },
    [subscriptionId, deliveryId],
  );
  return rows[0] ?? null;
}

/** What narrows a list of deliveries; null members do not. */
export interface DeliveryFilter {
  readonly status: DeliveryStatus | null;
  readonly event_type: string | null;
  readonly event_id: string | null;
  readonly since: string | null;
}

export async function listDeliveries(
  db: Db,
  subscriptionId: string,
  filter: DeliveryFilter,
  page: Keyset,
): Promise<WebhookDelivery[]> {
  const { bound, compare, order, suffix } = keysetSql(page);
  // Each status in a statement of its own, so that it meets the partial index. The values are a closed list.
  const status = filter.status === null ? "" : `and status = '${filter.status}'`;
  return db.query<WebhookDelivery>(
    {
      name: `list_webhook_deliveries_${filter.status ?? "all"}_${suffix}`,
      text: `select ${COLUMNS} from webhook_deliveries
        where org_id = current_org() and subscription_id = $3::uuid and delivery_id ${compare} $1::uuid ${status}
          and ($4::text is null or event_type = $4) and ($5::uuid is null or event_id = $5)
          and ($6::timestamptz is null or created_at >= $6)
        order by delivery_id ${order} limit $2::int`,
    },
    [bound, page.limit, subscriptionId, filter.event_type, filter.event_id, filter.since],
  );
}

export function listAttempts(db: Db, deliveryId: string): Promise<WebhookAttempt[]> {
  return db.query<WebhookAttempt>(
    {
      name: "list_webhook_attempts",
      text: `select attempt, at, duration_ms, url, status_code, error_code, error_message, response_body
        from webhook_attempts where org_id = current_org() and delivery_id = $1::uuid order by attempt`,
    },
    [deliveryId],
  );
}

/** Sends a delivery once more, from the beginning of the schedule; one that waits for its first attempt already stays as it is. */
export async function retryDelivery(
  db: Db,
  subscriptionId: string,
  deliveryId: string,
): Promise<WebhookDelivery | null> {
  const rows = await db.query<WebhookDelivery>(
    {
      name: "retry_webhook_delivery",
      text: `update webhook_deliveries set status = 'pending', failure_reason = null,
          round = round + (status <> 'pending')::int, tries = case status when 'pending' then tries else 0 end,
          leased_until = case status when 'pending' then leased_until end,
          next_attempt_at = null, finished_at = null, updated_at = now()
        where org_id = current_org() and delivery_id = $2::uuid and subscription_id = $1::uuid returning ${COLUMNS}`,
    },
    [subscriptionId, deliveryId],
  );
  return rows[0] ?? null;
}

/** Everything one attempt needs. */
export interface DeliveryJob {
  readonly delivery_id: string;
  readonly org_id: string;
  readonly subscription_id: string;
  readonly status: DeliveryStatus;
  readonly round: number;
  readonly tries: number;
  readonly next_attempt_at: string | null;
  readonly queued_at: string;
  /** Null when it is past its retention. */
  readonly event: Omit<OutboxEvent, "org_id" | "event_id" | "seq"> | null;
  readonly event_id: string;
  readonly url: string;
  readonly secret: Buffer;
  /** While it still signs. */
  readonly previous_secret: Buffer | null;
  readonly headers: Buffer | null;
  /** Whether the subscription's last attempts have failed. */
  readonly failing: boolean;
  readonly hold_ms: number;
  readonly active: boolean;
}

const JOB = `d.delivery_id, d.org_id, d.subscription_id, d.status, d.round, d.tries, d.next_attempt_at, d.updated_at as queued_at, d.event_id,
  case when o.event_id is not null then json_build_object('type', o.type, 'project_id', o.project_id, 'data', o.data,
    'occurred_at', to_char(o.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end as event,
  s.url, s.secret, case when s.previous_secret_until > now() then s.previous_secret end as previous_secret, s.headers,
  s.failing_since is not null as failing,
  greatest(0, extract(epoch from s.hold_until - now()) * 1000)::float8 as hold_ms,
  s.status = 'enabled' and s.deleted_at is null as active`;

/** A subscription for which deliveries wait. */
export interface WaitingSubscription {
  readonly subscription_id: string;
  readonly failing: boolean;
}

/** The subscriptions that have deliveries waiting for a first attempt. System only. */
export function waitingSubscriptions(db: Db, limit: number): Promise<WaitingSubscription[]> {
  return db.query<WaitingSubscription>(
    {
      name: "waiting_webhook_subscriptions",
      // From one subscription to the next through the index, however many deliveries each of them has waiting.
      text: `
with recursive due as (
  (select subscription_id from webhook_deliveries where status = 'pending' order by subscription_id limit 1)
  union all
  select (select d.subscription_id from webhook_deliveries d where d.status = 'pending' and d.subscription_id > due.subscription_id
    order by d.subscription_id limit 1)
  from due where due.subscription_id is not null
)
select s.subscription_id, s.failing_since is not null as failing
from due join webhook_subscriptions s using (subscription_id)
where s.status = 'enabled' and s.deleted_at is null and (s.hold_until is null or s.hold_until <= now())
limit $1::int`,
    },
    [limit],
  );
}

/**
 * Takes the oldest deliveries that wait for a first attempt, up to so many of each subscription, and leases them: when
 * nothing is recorded of one until the lease has ended, its taker is believed dead and it may be taken again. System only.
 */
export function claimDeliveries(
  db: Db,
  wanted: ReadonlyArray<{ readonly subscription_id: string; readonly count: number }>,
  leaseMs: number,
): Promise<DeliveryJob[]> {
  return db.query<DeliveryJob>(
    {
      name: "claim_webhook_deliveries",
      text: `
with taken as materialized (
  select picked.delivery_id
  from unnest($1::uuid[], $2::int[]) as wanted (subscription_id, count)
  join webhook_subscriptions s on s.subscription_id = wanted.subscription_id and (s.hold_until is null or s.hold_until <= now())
  cross join lateral (
    select delivery_id from webhook_deliveries
    where subscription_id = wanted.subscription_id and status = 'pending' and (leased_until is null or leased_until < now())
    order by delivery_id limit wanted.count for update skip locked
  ) as picked
),
d as (
  update webhook_deliveries set leased_until = now() + make_interval(secs => $3::float8 / 1000)
  where delivery_id in (select delivery_id from taken)
  returning *
)
select ${JOB} from d join webhook_subscriptions s using (subscription_id) left join outbox o on o.event_id = d.event_id
order by d.delivery_id`,
    },
    [wanted.map((each) => each.subscription_id), wanted.map((each) => each.count), leaseMs],
  );
}

/** Goes on with the leases of deliveries that are under way. System only. */
export async function renewLeases(db: Db, deliveryIds: readonly string[], leaseMs: number): Promise<void> {
  await db.query(
    {
      name: "renew_webhook_leases",
      text: `update webhook_deliveries set leased_until = now() + make_interval(secs => $2::float8 / 1000)
        where delivery_id = any ($1::uuid[]) and status = 'pending'`,
    },
    [deliveryIds, leaseMs],
  );
}

/** What an attempt of a delivery needs, or null when there is no such delivery. System only. */
export async function loadDeliveryJob(db: Db, deliveryId: string): Promise<DeliveryJob | null> {
  const rows = await db.query<DeliveryJob>(
    {
      name: "load_webhook_delivery_job",
      text: `select ${JOB} from webhook_deliveries d join webhook_subscriptions s using (subscription_id)
        left join outbox o on o.event_id = d.event_id where d.delivery_id = $1::uuid`,
    },
    [deliveryId],
  );
  return rows[0] ?? null;
}

export interface AttemptRecord {
  readonly delivery_id: string;
  readonly round: number;
  readonly result: AttemptResult;
  readonly verdict: DeliveryVerdict;
}

/** What the subscription looks like after an attempt was recorded. */
export interface AfterAttempt {
  /** Whether the verdict became the delivery's state; not when it has been ended or sent again in the meantime. */
  readonly applied: boolean;
  /** Since when every attempt has failed (ms), and how many; null and 0 after a success. */
  readonly failing_ms: number | null;
  readonly failed_attempts: number;
}

/** Writes an attempt, what becomes of the delivery, and what it tells of the subscription: in one statement. */
export async function recordAttempt(
  db: Db,
  { delivery_id, round, result, verdict }: AttemptRecord,
): Promise<AfterAttempt> {
  const rows = await db.query<AfterAttempt>(
    {
      name: "record_webhook_attempt",
      text: `
with subscription as (
  update webhook_subscriptions s set
    failing_since = case when $14::boolean then null else coalesce(s.failing_since, now()) end,
    failed_attempts = case when $14 then 0 else s.failed_attempts + 1 end,
    last_success_at = case when $14 then now() else s.last_success_at end,
    last_failure_at = case when $14 then s.last_failure_at else now() end,
    hold_until = case when $13::float8 is null then s.hold_until
      else greatest(s.hold_until, now() + make_interval(secs => $13::float8 / 1000)) end
  where s.subscription_id = (select d.subscription_id from webhook_deliveries d where d.delivery_id = $1::uuid)
    -- Successes are many, and a row written by each of them would put them in a queue.
    and (not $14 or s.failing_since is not null or s.last_success_at is null or s.last_success_at < now() - interval '5 seconds')
  returning s.failing_since, s.failed_attempts
),
before as (
  select * from webhook_deliveries where delivery_id = $1::uuid
    -- The subscription's row is locked first, as by those who end its deliveries: the other way round they would deadlock.
    and (select count(*) from subscription) >= 0
  for update
),
moved as (
  update webhook_deliveries d set attempts = d.attempts + 1, last_status_code = $6::int, last_error = $8::text, updated_at = now(),
    tries = d.tries + (d.round = $2::int)::int,
    status = case when current.it then $10::text else d.status end,
    failure_reason = case when current.it then $11::text else d.failure_reason end,
    next_attempt_at = case when current.it then now() + make_interval(secs => $12::float8 / 1000) else d.next_attempt_at end,
    leased_until = case when current.it then null else d.leased_until end,
    finished_at = case when current.it and $10 <> 'retrying' then now() else d.finished_at end
  from before cross join lateral (select before.round = $2::int and before.status in ('pending', 'retrying') as it) as current
  where d.delivery_id = before.delivery_id
  returning d.org_id, d.attempts, current.it as applied
),
noted as (
  insert into webhook_attempts (delivery_id, attempt, org_id, at, duration_ms, url, status_code, error_code, error_message, response_body)
  select $1::uuid, attempts, org_id, $3::timestamptz, $4::int, $5::text, $6::int, $7::text, $8::text, $9::text from moved
)
select moved.applied, (extract(epoch from clock_timestamp() - subscription.failing_since) * 1000)::float8 as failing_ms,
  coalesce(subscription.failed_attempts, 0) as failed_attempts
from moved left join subscription on true`,
    },
    [
      delivery_id,
      round,
      result.at,
      result.duration_ms,
      result.url,
      result.status_code,
      result.error_code,
      result.error_message,
      result.response_body,
      verdict.status,
      verdict.failure_reason,
      verdict.delay_ms,
      verdict.hold_ms,
      result.ok,
    ],
  );
  return rows[0] ?? { applied: false, failing_ms: null, failed_attempts: 0 };
}

/** Ends a delivery without an attempt. */
export async function failDelivery(
  db: Db,
  { delivery_id, round }: { readonly delivery_id: string; readonly round: number },
  reason: FailureReason,
): Promise<void> {
  await db.query(
    {
      name: "fail_webhook_delivery",
      text: `update webhook_deliveries set status = 'failed', failure_reason = $3::text, next_attempt_at = null, leased_until = null,
          updated_at = now(), finished_at = now()
        where delivery_id = $1::uuid and round = $2::int and status in ('pending', 'retrying')`,
    },
    [delivery_id, round, reason],
  );
}

/** Deliveries whose next attempt is overdue: their workflow was never started, or is gone. System only. */
export function overdueDeliveries(
  db: Db,
  overdueMs: number,
  limit: number,
): Promise<{ delivery_id: string; org_id: string; round: number; tries: number }[]> {
  return db.query(
    {
      name: "overdue_webhook_deliveries",
      text: `update webhook_deliveries set swept_at = now() where delivery_id in (
          select delivery_id from webhook_deliveries
          where status = 'retrying' and next_attempt_at < now() - make_interval(secs => $1::float8 / 1000)
            and (swept_at is null or swept_at < now() - make_interval(secs => $1::float8 / 1000))
          order by next_attempt_at limit $2::int for update skip locked
        ) returning delivery_id, org_id, round, tries`,
    },
    [overdueMs, limit],
  );
}

/** How many deliveries wait: for their first attempt, and for another one. System only. */
export async function countWaiting(db: Db): Promise<{ pending: number; retrying: number }> {
  const rows = await db.query<{ pending: number; retrying: number }>({
    name: "count_waiting_webhook_deliveries",
    text: `select (select count(*) from webhook_deliveries where status = 'pending') as pending,
      (select count(*) from webhook_deliveries where status = 'retrying') as retrying`,
  });
  return rows[0] ?? { pending: 0, retrying: 0 };
}

/** Forgets deliveries older than `maxAgeMs` that have ended; how many. System only. */
export async function purgeDeliveries(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  const rows = await db.query(
    {
      name: "purge_webhook_deliveries",
      text: `delete from webhook_deliveries where delivery_id in (
          select delivery_id from webhook_deliveries where created_at < now() - make_interval(secs => $1::float8 / 1000)
            and status in ('delivered', 'failed') order by created_at limit $2::int
        ) returning delivery_id`,
    },
    [maxAgeMs, limit],
  );
  return rows.length;
}
