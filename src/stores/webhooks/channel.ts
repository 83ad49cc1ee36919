import type { Database } from "../db.ts";

/** The channel whose notifications tell workers that there is something to relay, or which subscriptions have due deliveries. */
export const WEBHOOKS_CHANNEL = "millrace_webhooks";
/** The payload for new events (sent by the outbox's trigger) and replays; any other is a list of subscription ids. */
const EVENTS_WAITING = "events";
/** SQL that announces a new replay once the transaction commits. */
export const NOTIFY_RELAYS = `pg_notify('${WEBHOOKS_CHANNEL}', '${EVENTS_WAITING}')`;

/** What other processes announce to a worker. */
export interface WebhookNotices {
  /** There may be events to relay, or a replay. */
  eventsWaiting(): void;
  /** Deliveries to these subscriptions may be due. */
  deliveriesDue(subscriptionIds: readonly string[]): void;
  /** Notifications may have been lost, so everything must be checked. */
  lookAround(): void;
}

/** Listens until closed. Notifications are hints only: one may come twice or, from a killed process, never. */
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
