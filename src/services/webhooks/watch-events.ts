import type { Metrics } from "../../platform/metrics.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { outboxLag } from "../../stores/webhooks/outbox.ts";
import { countWaiting } from "../../stores/webhooks/deliveries.ts";
import { countTroubled } from "../../stores/webhooks/subscriptions.ts";

const EVERY_MS = 5000;

/** Keeps a process's metrics of events and deliveries up to date: of all there are, whichever process sees to them. */
export function watchEvents(db: Database, metrics: Metrics, onError: (error: unknown) => void): Periodic {
  return periodically(
    EVERY_MS,
    () =>
      db.system(async (connection) => {
        const { lag_seconds, pending: events } = await outboxLag(connection);
        metrics.outbox(lag_seconds, events);
        const { pending, retrying } = await countWaiting(connection);
        metrics.deliveriesWaiting(pending, retrying);
        const { failing, disabled } = await countTroubled(connection);
        metrics.subscriptionsInTrouble(failing, disabled);
      }),
    onError,
  );
}
