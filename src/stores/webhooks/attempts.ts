import type { AttemptResult, DeliveryVerdict } from "../../domain/webhooks/webhook.ts";
import type { DomainEvent } from "../../domain/webhooks/events.ts";
import { columns } from "../columns.ts";
import type { Db } from "../db.ts";
import { timeText } from "../time-text.ts";

/** What one attempt needs: a claimed delivery, its event and its subscription. */
export interface DeliveryJob {
  readonly delivery_id: string;
  readonly org_id: string;
  readonly subscription_id: string;
  readonly round: number;
  /** Earlier attempts since the delivery was last queued. */
  readonly tries: number;
  /** The number of this claim of the delivery: the result of an older claim does not change the schedule. */
  readonly claim: number;
  readonly event_id: string;
  readonly event: Omit<DomainEvent, "org_id" | "event_id">;
  readonly url: string;
  readonly secret: Buffer;
  /** Set while the previous secret still signs. */
  readonly previous_secret: Buffer | null;
  readonly headers: Buffer | null;
}

/** A subscription with open deliveries. */
export interface DueSubscription {
  readonly subscription_id: string;
  readonly org_id: string;
  /** Time until the first of them is due (ms), at least 0; null if there is none. */
  readonly due_in_ms: number | null;
  /** Whether the last attempt to this subscription failed. */
  readonly failing: boolean;
}

/** The predicate of the index of due deliveries. */
const OPEN = "status in ('pending', 'retrying')";
/** Only enabled subscriptions can have open deliveries, because disabling or deleting a subscription ends them. */
const ACTIVE = "status = 'enabled' and s.deleted_at is null";
const DUE_IN_MS = (dueAt: string): string =>
  `(extract(epoch from greatest(${dueAt}, s.hold_until, now()) - now()) * 1000)::float8`;

/**
 * The subscriptions of these shards with open deliveries. A subscription's shard is the last byte of its ID modulo the number of shards.
 * System only.
 */
export function dueSubscriptions(
  db: Db,
  shards: { readonly count: number; readonly own: readonly number[] },
): Promise<DueSubscription[]> {
  return db.query(
    // Steps from one subscription to the next through the index, however many deliveries each has open.
    `
with recursive due as (
  (select subscription_id, next_attempt_at from webhook_deliveries where ${OPEN}
    order by subscription_id, next_attempt_at limit 1)
  union all
  select following.* from due cross join lateral (
    select d.subscription_id, d.next_attempt_at from webhook_deliveries d where d.${OPEN} and d.subscription_id > due.subscription_id
    order by d.subscription_id, d.next_attempt_at limit 1) as following
)
select s.subscription_id, s.org_id, ${DUE_IN_MS("due.next_attempt_at")} as due_in_ms, s.failing_since is not null as failing
from due join webhook_subscriptions s using (subscription_id)
where s.${ACTIVE} and get_byte(uuid_send(due.subscription_id), 15) % $1::int = any ($2::int[])`,
    [shards.count, shards.own],
  );
}

/** The organisations of these subscriptions. System only. */
export function organisationsOf(
  db: Db,
  subscriptionIds: readonly string[],
): Promise<Array<Pick<DueSubscription, "subscription_id" | "org_id">>> {
  return db.query(
    "select subscription_id, org_id from webhook_subscriptions where subscription_id = any ($1::uuid[])",
    [subscriptionIds],
  );
}

/** The result of claiming deliveries. */
export interface ClaimedDeliveries {
  readonly jobs: readonly DeliveryJob[];
  /** The examined subscriptions, and when more of their deliveries are due. */
  readonly subscriptions: readonly DueSubscription[];
}

type ClaimRow = DueSubscription & (DeliveryJob | { readonly delivery_id: null });

/**
 * Claims the deliveries that have been due for longest, up to `count` per subscription, except those in `underWay`. Other processes cannot
 * claim them for `claimMs`; if no result is recorded by then, they are due again. System only.
 */
export async function claimDeliveries(
  db: Db,
  wanted: ReadonlyArray<{ readonly subscription_id: string; readonly count: number }>,
  underWay: readonly string[],
  claimMs: number,
): Promise<ClaimedDeliveries> {
  const rows = await db.query<ClaimRow>(
    `
with wanted as (select * from unnest($1::uuid[], $2::int[]) as wanted (subscription_id, count)),
taken as materialized (
  select picked.delivery_id
  from wanted join webhook_subscriptions s using (subscription_id)
  cross join lateral (
    select delivery_id from webhook_deliveries
    where subscription_id = wanted.subscription_id and ${OPEN} and next_attempt_at <= now() and delivery_id <> all ($4::uuid[])
    order by next_attempt_at, delivery_id limit wanted.count for no key update skip locked
  ) as picked
  where s.${ACTIVE} and (s.hold_until is null or s.hold_until <= now())
),
claimed as (
  update webhook_deliveries set claim = claim + 1, next_attempt_at = now() + make_interval(secs => $3::float8 / 1000)
  where delivery_id in (select delivery_id from taken)
  returning delivery_id, org_id, subscription_id, round, tries, claim, event_id
)
select s.subscription_id, s.org_id, s.failing_since is not null as failing,
  (select ${DUE_IN_MS("d.next_attempt_at")} from webhook_deliveries d
    where d.subscription_id = s.subscription_id and s.${ACTIVE} and d.${OPEN} and d.delivery_id not in (select delivery_id from taken)
      and d.delivery_id <> all ($4)
    order by d.next_attempt_at limit 1) as due_in_ms,
  claimed.delivery_id, claimed.round, claimed.tries, claimed.claim, claimed.event_id,
  json_build_object('type', o.type, 'project_id', o.project_id, 'data', o.data,
    'occurred_at', ${timeText("o.occurred_at")}) as event,
  s.url, s.secret, case when s.previous_secret_until > now() then s.previous_secret end as previous_secret, s.headers
from wanted join webhook_subscriptions s using (subscription_id)
left join (claimed join outbox o on o.event_id = claimed.event_id and o.org_id = claimed.org_id) using (subscription_id)
order by claimed.delivery_id`,
    [wanted.map((each) => each.subscription_id), wanted.map((each) => each.count), claimMs, underWay],
  );
  const subscriptions = new Map(rows.map((row) => [row.subscription_id, row]));
  return {
    jobs: rows.filter((row): row is DueSubscription & DeliveryJob => row.delivery_id !== null),
    subscriptions: [...subscriptions.values()],
  };
}

const MADE = columns(`delivery_id uuid, subscription_id uuid, round int, claim int, ok boolean, at timestamptz,
  duration_ms int, url text, status_code int, error_code text, error_message text, response_body text,
  new_status text, new_reason text, delay_ms float8, hold_ms float8`);

/** A finished attempt, and the new state of its delivery. */
export interface AttemptRecord {
  readonly job: Pick<DeliveryJob, "delivery_id" | "subscription_id" | "round" | "claim">;
  readonly result: AttemptResult;
  readonly verdict: DeliveryVerdict;
}

/** A delivery and its subscription after an attempt was recorded. */
export interface AfterAttempt {
  readonly delivery_id: string;
  /** Whether the verdict became the delivery's state: not if the delivery was finished or redelivered meanwhile. */
  readonly applied: boolean;
  /** For how long every attempt to the subscription has failed (ms), and how many; null and 0 after a success. */
  readonly failing_ms: number | null;
  readonly failed_attempts: number;
}

/**
 * Records attempts of distinct deliveries, and updates the deliveries and their subscriptions, in one statement. Returns results in any
 * order, and none for deliveries that no longer exist.
 */
export function recordAttempts(db: Db, attempts: readonly AttemptRecord[]): Promise<AfterAttempt[]> {
  const made = attempts.map(({ job, result, verdict }) => ({
    ...job,
    ...result,
    new_status: verdict.status,
    new_reason: verdict.failure_reason,
    delay_ms: verdict.delay_ms,
    hold_ms: verdict.hold_ms,
  }));
  return db.query(
    `
with made as materialized (
  select *, coalesce(max(ord) filter (where ok) over (partition by subscription_id), 0) as last_success
  from ${MADE.numbered}
),
tally as (
  select subscription_id, bool_or(ok) as succeeded, not bool_and(ok) as failed, max(hold_ms) as hold_ms,
    count(*) filter (where not ok and ord > last_success) as failures
  from made group by subscription_id
),
-- The subscriptions are locked first and in the order of their ids, like in every other statement that changes several of
-- their deliveries: otherwise they would deadlock.
locked as materialized (
  select subscription_id from webhook_subscriptions where subscription_id in (select subscription_id from tally)
  order by subscription_id for no key update
),
subscription as (
  update webhook_subscriptions s set
    failing_since = case when tally.failures = 0 then null when tally.succeeded then now() else coalesce(s.failing_since, now()) end,
    failed_attempts = case when tally.succeeded then 0 else s.failed_attempts end + tally.failures,
    last_success_at = case when tally.succeeded then now() else s.last_success_at end,
    last_failure_at = case when tally.failed then now() else s.last_failure_at end,
    hold_until = greatest(s.hold_until, now() + make_interval(secs => tally.hold_ms / 1000))
  from tally join locked using (subscription_id)
  where s.subscription_id = tally.subscription_id
    -- Successes are many: most of them say nothing new.
    and (tally.failed or s.failing_since is not null or s.last_success_at is null or s.last_success_at < now() - interval '5 seconds')
  returning s.subscription_id, s.failing_since, s.failed_attempts
),
before as materialized (
  select made.*, d.round = made.round and d.${OPEN} and (made.ok or d.claim = made.claim) as applies
  from webhook_deliveries d join made using (delivery_id)
  where (select count(*) from locked) >= 0
  order by d.delivery_id for no key update of d
),
moved as (
  update webhook_deliveries d set attempts = d.attempts + 1, last_status_code = before.status_code, last_error = before.error_message,
    updated_at = now(), tries = d.tries + (d.round = before.round)::int,
    status = case when applies then new_status else d.status end,
    failure_reason = case when applies then new_reason else d.failure_reason end,
    next_attempt_at = case when applies then now() + make_interval(secs => delay_ms / 1000) else d.next_attempt_at end,
    finished_at = case when applies and new_status <> 'retrying' then now() else d.finished_at end
  from before where d.delivery_id = before.delivery_id
  returning d.delivery_id, d.subscription_id, d.org_id, d.attempts, applies
),
noted as (
  insert into webhook_attempts (delivery_id, attempt, org_id, at, duration_ms, url, status_code, error_code, error_message, response_body)
  select delivery_id, attempts, org_id, at, duration_ms, url, status_code, error_code, error_message, response_body
  from moved join made using (delivery_id)
)
select delivery_id, applies as applied, (extract(epoch from clock_timestamp() - subscription.failing_since) * 1000)::float8 as failing_ms,
  coalesce(subscription.failed_attempts, 0) as failed_attempts
from moved left join subscription using (subscription_id)`,
    MADE.arrays(made),
  );
}
