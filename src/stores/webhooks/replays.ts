import type { Db } from "../db.ts";
import { NOTIFY_RELAYS } from "./channel.ts";

export interface WebhookReplay {
  readonly replay_id: string;
  readonly org_id: string;
  readonly subscription_id: string;
  readonly since: string;
  readonly until: string;
  /** Patterns of event types. */
  readonly events: string[];
  readonly only_failed: boolean;
  /** The position in the outbox that the replay has reached, and how many deliveries it has queued. */
  readonly position: number;
  readonly queued: number;
  readonly created_at: string;
  readonly finished_at: string | null;
}

const COLUMNS =
  "replay_id, org_id, subscription_id, since, until, events, only_failed, position, queued, created_at, finished_at";

/** Requests a replay; a repeated request changes nothing. */
export async function insertReplay(
  db: Db,
  replay: Pick<WebhookReplay, "replay_id" | "org_id" | "subscription_id" | "since" | "until" | "only_failed"> & {
    readonly events: readonly string[];
  },
): Promise<WebhookReplay> {
  const rows = await db.query<WebhookReplay>(
    `
with ordered as (
  insert into webhook_replays (replay_id, org_id, subscription_id, since, until, events, only_failed)
  values ($1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $5::timestamptz, $6::text[], $7::boolean)
  on conflict (replay_id) do update set replay_id = excluded.replay_id returning ${COLUMNS}
)
select ${COLUMNS}, ${NOTIFY_RELAYS} from ordered`,
    [
      replay.replay_id,
      replay.org_id,
      replay.subscription_id,
      replay.since,
      replay.until,
      replay.events,
      replay.only_failed,
    ],
  );
  return rows[0] as WebhookReplay;
}

/**
 * Takes the oldest unfinished replay of any organisation, and locks its subscription: disabling or deleting it waits, since both change
 * many deliveries. Other processes skip the subscription until the transaction ends. System only.
 */
export async function takeReplay(db: Db): Promise<WebhookReplay | null> {
  return db.first<WebhookReplay>(`select ${COLUMNS.split(", ")
    .map((column) => `r.${column}`)
    .join(", ")}
      from webhook_replays r join webhook_subscriptions s using (subscription_id)
      where r.replay_id in (
        select distinct on (org_id) replay_id from webhook_replays where finished_at is null order by org_id, created_at)
        -- Checked again on the locked row: deleting the subscription since this statement began has ended the replay.
        and r.finished_at is null
      order by random() limit 1 for no key update skip locked`);
}

/** Records the progress of a replay. */
export async function advanceReplay(
  db: Db,
  replayId: string,
  step: { readonly position: number; readonly queued: number; readonly finished: boolean },
): Promise<void> {
  await db.query(
    `update webhook_replays set position = $2::bigint, queued = queued + $3::int,
        finished_at = case when $4::boolean then now() end
      where replay_id = $1::uuid`,
    [replayId, step.position, step.queued, step.finished],
  );
}
