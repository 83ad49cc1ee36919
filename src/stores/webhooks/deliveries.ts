import type { DeliveryStatus, FailureReason } from "../../domain/webhooks/webhook.ts";
import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";
import { WEBHOOKS_CHANNEL } from "./channel.ts";

const ROW = columns(`delivery_id uuid, subscription_id uuid, event_id uuid, event_type text, status text,
  failure_reason text null, round int, tries int, attempts int, next_attempt_at timestamptz null,
  last_status_code int null, last_error text null, created_at timestamptz, finished_at timestamptz null`);

export interface WebhookDelivery extends RowOf<typeof ROW> {
  readonly status: DeliveryStatus;
  readonly failure_reason: FailureReason | null;
  /** Attempts since the delivery was last queued. */
  readonly tries: number;
  /** Attempts in total, also before a redelivery. */
  readonly attempts: number;
}

const ATTEMPT = columns(`attempt int, at timestamptz, duration_ms int, url text, status_code int null,
  error_code text null, error_message text null, response_body text null`);

export type WebhookAttempt = RowOf<typeof ATTEMPT>;

const COLUMNS = ROW.select();

const NEW = columns("delivery_id uuid, org_id uuid, subscription_id uuid, event_id uuid, event_type text");

/** One event for one subscription. */
export type NewDelivery = RowOf<typeof NEW>;

/** Tells the workers which subscriptions have due deliveries: as many ids as fit a payload (8000 bytes). */
const NOTIFY_DUE = `
select pg_notify('${WEBHOOKS_CHANNEL}', string_agg(subscription_id::text, ','))
from (select subscription_id, row_number() over () / 200 as part from (select distinct subscription_id from queued) as ids) as due group by part`;

/**
 * Queues deliveries to those of these subscriptions that are enabled; an existing delivery of an event stays. No one can disable or delete
 * the subscriptions before the transaction ends, and later changes find the deliveries.
 */
export async function insertDeliveries(db: Db, deliveries: readonly NewDelivery[]): Promise<void> {
  await db.query(
    `
with enabled as materialized (
  select subscription_id from webhook_subscriptions
  where subscription_id = any ($3::uuid[]) and status = 'enabled' and deleted_at is null order by subscription_id for share
),
queued as (
  insert into webhook_deliveries (${NEW.select()})
  select * from ${NEW.unnest(1)}
  where subscription_id in (select subscription_id from enabled)
  on conflict (event_id, subscription_id) do nothing
  returning subscription_id
)
${NOTIFY_DUE}`,
    NEW.arrays(deliveries),
  );
}

/**
 * Queues deliveries again: for events without a delivery, failed deliveries and, unless `onlyFailed`, successful ones. Open deliveries
 * continue. Returns how many were queued.
 */
export async function requeueDeliveries(
  db: Db,
  deliveries: readonly NewDelivery[],
  onlyFailed: boolean,
): Promise<number> {
  return db.number(
    `
with queued as (
  insert into webhook_deliveries (${NEW.select()})
  select * from ${NEW.unnest(1)}
  on conflict (event_id, subscription_id) do update set status = 'pending', failure_reason = null, tries = 0,
    round = webhook_deliveries.round + 1, next_attempt_at = now(), finished_at = null, updated_at = now()
  where webhook_deliveries.status = 'failed' or webhook_deliveries.status = 'delivered' and not $6::boolean
  returning subscription_id
),
notified as materialized (${NOTIFY_DUE})
select (select count(*) from queued) as queued, (select count(*) from notified) as notifications`,
    [...NEW.arrays(deliveries), onlyFailed],
  );
}

export async function findDelivery(
  db: Db,
  subscriptionId: string,
  deliveryId: string,
): Promise<WebhookDelivery | null> {
  return db.first(
    `select ${COLUMNS} from webhook_deliveries
      where org_id = current_org() and delivery_id = $2::uuid and subscription_id = $1::uuid`,
    [subscriptionId, deliveryId],
  );
}

/** Filters of a list of deliveries; null fields restrict nothing. */
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
  // A statement for each status, so that it matches the partial index. The values are a closed list.
  const status = filter.status === null ? "" : `and status = '${filter.status}'`;
  const select = `select ${COLUMNS} from webhook_deliveries
    where org_id = current_org() and subscription_id = $1::uuid ${status}
      and ($2::text is null or event_type = $2) and ($3::uuid is null or event_id = $3)
      and ($4::timestamptz is null or created_at >= $4)`;
  return selectPage(db, page, "delivery_id", select, [
    subscriptionId,
    filter.event_type,
    filter.event_id,
    filter.since,
  ]);
}

export function listAttempts(db: Db, deliveryId: string): Promise<WebhookAttempt[]> {
  return db.query(
    `select ${ATTEMPT.select()} from webhook_attempts where org_id = current_org() and delivery_id = $1::uuid order by attempt`,
    [deliveryId],
  );
}

/** Redelivers a delivery, from the start of the schedule; a delivery that still waits for its first attempt does not change. */
export async function retryDelivery(
  db: Db,
  subscriptionId: string,
  deliveryId: string,
): Promise<WebhookDelivery | null> {
  return db.first(
    `
with queued as (
  update webhook_deliveries set status = 'pending', failure_reason = null,
    round = round + (status <> 'pending')::int, tries = case status when 'pending' then tries else 0 end,
    next_attempt_at = case status when 'pending' then next_attempt_at else now() end, finished_at = null, updated_at = now()
  where org_id = current_org() and delivery_id = $2::uuid and subscription_id = $1::uuid returning ${COLUMNS}
)
select ${COLUMNS}, pg_notify('${WEBHOOKS_CHANNEL}', subscription_id::text) from queued`,
    [subscriptionId, deliveryId],
  );
}

/** Removes finished deliveries older than `maxAgeMs`; returns how many. System only. */
export async function purgeDeliveries(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  return db.count(
    `delete from webhook_deliveries where delivery_id in (
        select delivery_id from webhook_deliveries where created_at < now() - make_interval(secs => $1::float8 / 1000)
          and status in ('delivered', 'failed') order by created_at limit $2::int
      )`,
    [maxAgeMs, limit],
  );
}
