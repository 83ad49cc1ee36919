import type { DomainEvent } from "../../domain/webhooks/events.ts";
import type { JsonObject } from "../../domain/json.ts";
import { jsonb } from "../jsonb.ts";
import type { Db } from "../db.ts";

/** An event with its place in the outbox. */
export interface OutboxEvent extends DomainEvent {
  readonly seq: number;
}

const COLUMNS = "seq, event_id, org_id, type, project_id, data, occurred_at";

/** Takes the oldest events that no relay has seen to; others skip them until the transaction ends. System only. */
export function takeUnrelayed(db: Db, limit: number): Promise<OutboxEvent[]> {
  return db.query<OutboxEvent>(
    {
      name: "take_unrelayed",
      text: `select ${COLUMNS} from outbox where relayed_at is null order by seq limit $1::int for update skip locked`,
    },
    [limit],
  );
}

export async function markRelayed(db: Db, seqs: readonly number[]): Promise<void> {
  await db.query(
    { name: "mark_relayed", text: "update outbox set relayed_at = now() where seq = any ($1::bigint[])" },
    [seqs],
  );
}

/** An event that no statement of its own writes. Adding it again changes nothing. `relayed`: for one receiver alone, so no relay looks at it. */
export async function insertEvent(
  db: Db,
  event: { event_id: string; org_id: string; type: string; project_id: string | null; data: JsonObject },
  relayed = false,
): Promise<void> {
  await db.query(
    {
      name: "insert_event",
      text: `insert into outbox (event_id, org_id, type, project_id, data, relayed_at)
        values ($1::uuid, $2::uuid, $3::text, $4::uuid, $5::jsonb, case when $6::boolean then now() end)
        on conflict (event_id) do nothing`,
    },
    [event.event_id, event.org_id, event.type, event.project_id, jsonb(event.data), relayed],
  );
}

/** An organisation's events of a time, beyond a place in the outbox. */
export function eventsBetween(
  db: Db,
  range: { org_id: string; since: string; until: string; beyond: number; limit: number },
): Promise<OutboxEvent[]> {
  return db.query<OutboxEvent>(
    {
      name: "events_between",
      text: `select ${COLUMNS} from outbox where org_id = $1::uuid and seq > $4::bigint
          and occurred_at >= $2::timestamptz and occurred_at < $3::timestamptz
        order by seq limit $5::int`,
    },
    [range.org_id, range.since, range.until, range.beyond, range.limit],
  );
}

export async function findEvent(db: Db, eventId: string): Promise<OutboxEvent | null> {
  const rows = await db.query<OutboxEvent>(
    { name: "find_event", text: `select ${COLUMNS} from outbox where event_id = $1::uuid` },
    [eventId],
  );
  return rows[0] ?? null;
}

/** How many events wait for a relay, and for how long the oldest has (seconds). System only. */
export async function outboxLag(db: Db): Promise<{ pending: number; lag_seconds: number }> {
  const rows = await db.query<{ pending: number; lag_seconds: number }>({
    name: "outbox_lag",
    text: `select count(*) as pending, coalesce(extract(epoch from clock_timestamp() - min(occurred_at)), 0)::float8 as lag_seconds
      from outbox where relayed_at is null`,
  });
  return rows[0] ?? { pending: 0, lag_seconds: 0 };
}

/** Forgets events older than `maxAgeMs` that have been relayed; how many. System only. */
export async function purgeEvents(db: Db, maxAgeMs: number, limit: number): Promise<number> {
  const rows = await db.query(
    {
      name: "purge_events",
      // seq follows time closely enough to look at the oldest only.
      text: `delete from outbox where seq in (
          select seq from (select seq, occurred_at, relayed_at from outbox order by seq limit $2::int) as oldest
          where relayed_at is not null and occurred_at < now() - make_interval(secs => $1::float8 / 1000)
        ) returning seq`,
    },
    [maxAgeMs, limit],
  );
  return rows.length;
}
