import type { EventType, NewEvent } from "../domain/webhooks/events.ts";
import { jsonb } from "./jsonb.ts";
import type { Db } from "./db.ts";

/** SQL for an event's type in a statement that writes the event with its subject. */
export const eventType = (type: EventType): string => `'${type}'`;

/**
 * Writes an event of an organisation in the transaction that records its subject. Repeating the call changes nothing. `relayed` means that
 * the event is for one receiver only, so the relay skips it.
 */
export async function insertEvent(
  db: Db,
  event: NewEvent & { readonly org_id: string },
  relayed = false,
): Promise<void> {
  await db.query(
    `
insert into outbox (event_id, org_id, type, project_id, data, relayed_at)
values ($1::uuid, $2::uuid, $3::text, $4::uuid, $5::jsonb, case when $6::boolean then now() end)
on conflict (event_id, org_id) do nothing`,
    [event.event_id, event.org_id, event.type, event.project_id ?? null, jsonb(event.data), relayed],
  );
}
