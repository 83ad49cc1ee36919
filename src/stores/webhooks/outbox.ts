import type { DomainEvent } from "../../domain/webhooks/events.ts";
import { firstIdOf } from "../../domain/uuid.ts";
import type { Db } from "../db.ts";

/** An event with its position in the outbox. */
export interface OutboxEvent extends DomainEvent {
  readonly seq: number;
}

const COLUMNS = "seq, event_id, org_id, type, project_id, data, occurred_at";

/** Whether there are unrelayed events, and unfinished replays. System only. */
export async function relayWork(db: Db): Promise<{ events: boolean; replays: boolean }> {
  return db.one(`select exists (select from outbox where relayed_at is null) as events,
    exists (select from webhook_replays where finished_at is null) as replays`);
}

/**
 * Takes the oldest unrelayed events of each organisation and marks them as relayed. Others skip them until the
 * transaction ends, which makes their deliveries. System only.
 */
export function takeUnrelayed(db: Db, limit: number): Promise<OutboxEvent[]> {
  return db.query(
    `
with recursive organisations as (
  -- From one organisation to the next through the index, however many events each of them has.
  (select org_id from outbox where relayed_at is null order by org_id limit 1)
  union all
  select following.org_id from organisations cross join lateral (
    select o.org_id from outbox o where o.relayed_at is null and o.org_id > organisations.org_id
    order by o.org_id limit 1) as following
),
next as (
  select oldest.seq from organisations cross join lateral (
    select o.seq, row_number() over (order by o.seq) as place from outbox o
    where o.relayed_at is null and o.org_id = organisations.org_id order by o.seq limit $1::int) as oldest
  order by oldest.place, oldest.seq limit $1::int
),
taken as (
  update outbox set relayed_at = now()
  where seq in (select seq from outbox where relayed_at is null and seq in (select seq from next) for update skip locked)
  returning ${COLUMNS}
)
select * from taken order by seq`,
    [limit],
  );
}

/** An organisation's events of a time range, after a position in the outbox. */
export function eventsBetween(
  db: Db,
  range: { org_id: string; since: string; until: string; beyond: number; limit: number },
): Promise<OutboxEvent[]> {
  return db.query(
    `select ${COLUMNS} from outbox where org_id = $1::uuid and seq > $4::bigint
        and occurred_at >= $2::timestamptz and occurred_at < $3::timestamptz
      order by seq limit $5::int`,
    [range.org_id, range.since, range.until, range.beyond, range.limit],
  );
}

export async function findEvent(db: Db, eventId: string): Promise<OutboxEvent | null> {
  return db.first(`select ${COLUMNS} from outbox where event_id = $1::uuid`, [eventId]);
}

/** Removes relayed events older than `maxAgeMs` without deliveries; returns how many. System only. */
export async function purgeEvents(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  return db.count(
    // Ids are in the order of time, so their index leads to the oldest.
    `delete from outbox where event_id in (
        select event_id from outbox o
        where event_id < $1::uuid and relayed_at is not null
          and not exists (select from webhook_deliveries d where d.event_id = o.event_id)
        order by event_id limit $2::int
      )`,
    [firstIdOf(Date.now() - maxAgeMs), limit],
  );
}
