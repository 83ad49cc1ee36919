import type { Db } from "../db.ts";

/** The backlog of events and deliveries, and the subscriptions in trouble. */
export interface WebhookBacklog {
  /** Events without deliveries yet, and the age of the oldest (seconds; 0 if there is none). */
  readonly events: number;
  readonly events_age_seconds: number;
  /** Deliveries that wait for their first attempt, and deliveries that wait for a retry. */
  readonly pending: number;
  readonly retrying: number;
  /** Subscriptions that are failing, and subscriptions that were disabled because of failures. */
  readonly failing: number;
  readonly disabled: number;
}

/** Counts the backlog of all organisations. System only. */
export async function countBacklog(db: Db): Promise<WebhookBacklog> {
  return db.one(`
select * from
  (select count(*) as events, coalesce(extract(epoch from clock_timestamp() - min(occurred_at)), 0)::float8 as events_age_seconds
    from outbox where relayed_at is null) as waiting,
  (select count(*) filter (where status = 'pending') as pending, count(*) filter (where status = 'retrying') as retrying
    from webhook_deliveries where status in ('pending', 'retrying')) as open,
  (select count(*) filter (where status = 'enabled' and failing_since is not null) as failing,
    count(*) filter (where status = 'disabled' and disabled_reason in ('failing', 'gone')) as disabled
    from webhook_subscriptions where deleted_at is null) as troubled`);
}
