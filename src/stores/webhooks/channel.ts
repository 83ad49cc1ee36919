import type { Database } from "../db.ts";

/** NOTIFY on it announces to workers that there is something to relay, or to which subscriptions deliveries are due. */
export const WEBHOOKS_CHANNEL = "millrace_webhooks";
/** The payload for new events (sent by the trigger of the outbox) and replays; any other one is a list of subscription ids. */
const EVENTS_WAITING = "events";
/** An SQL expression that announces a new replay once the transaction commits. */
export const NOTIFY_RELAYS = `pg_notify('${WEBHOOKS_CHANNEL}', '${EVENTS_WAITING}')`;

/** What other processes announce to a worker. */
export interface WebhookNotices {
  /** There may be events to relay, or a replay. */
  eventsWaiting(): void;
  /** Deliveries to these subscriptions may be due. */
  deliveriesDue(subscriptionIds: readonly string[]): void;
  /** Notices may have been lost: look at everything. */
  lookAround(): void;
}

/** Listens until closed. A hint only: one may come twice or, from a process that is killed, never. */
export function listenToWebhooks(db: Database, notices: WebhookNotices): { close(): Promise<void> } {
  return db.listen(
    WEBHOOKS_CHANNEL,
    (payload) => {
      if (payload === EVENTS_WAITING) notices.eventsWaiting();
      else notices.deliveriesDue(payload.split(","));
    },
    () => notices.lookAround(),
  );
}
