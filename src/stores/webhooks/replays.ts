import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { NOTIFY_RELAYS } from "./channel.ts";

const ROW = columns(`replay_id uuid, org_id uuid, subscription_id uuid, since timestamptz, until timestamptz,
  events text[], only_failed boolean, position bigint, queued int, created_at timestamptz,
  finished_at timestamptz null`);

export interface WebhookReplay extends RowOf<typeof ROW> {
  /** Patterns of event types. */
  readonly events: string[];
  /** The position in the outbox that the replay has reached, and how many deliveries it has queued. */
  readonly position: number;
}

const COLUMNS = ROW.select();

const NEW = columns(`replay_id uuid, org_id uuid, subscription_id uuid, since timestamptz, until timestamptz,
  events text[], only_failed boolean`);

/** Requests a replay; a repeated request changes nothing. */
export async function insertReplay(
  db: Db,
  replay: Pick<WebhookReplay, "replay_id" | "org_id" | "subscription_id" | "since" | "until" | "only_failed"> & {
    readonly events: readonly string[];
  },
): Promise<WebhookReplay> {
  return db.one(
    `
with ordered as (
  insert into webhook_replays ${NEW.into}
  on conflict (replay_id) do update set replay_id = excluded.replay_id returning ${COLUMNS}
)
select ${COLUMNS}, ${NOTIFY_RELAYS} from ordered`,
    NEW.values(replay),
  );
}

/**
 * Takes the oldest unfinished replay of any organisation, and locks its subscription: disabling or deleting it waits, since both change
 * many deliveries. Other processes skip the subscription until the transaction ends. System only.
 */
export async function takeReplay(db: Db): Promise<WebhookReplay | null> {
  return db.first(`select ${ROW.select("r")}
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
