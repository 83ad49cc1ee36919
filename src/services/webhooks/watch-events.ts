import type { Metrics } from "../../platform/metrics.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { countBacklog } from "../../stores/webhooks/backlog.ts";

const EVERY_MS = 5000;

/** Keeps a process's metrics of events and deliveries up to date: of all there are, whichever process sees to them. */
export function watchEvents(db: Database, metrics: Metrics, onError: (error: unknown) => void): Periodic {
  return periodically(
    EVERY_MS,
    async () => {
      const backlog = await db.system((connection) => countBacklog(connection));
      metrics.outbox(backlog.events_age_seconds, backlog.events);
      metrics.deliveriesWaiting(backlog.pending, backlog.retrying);
      metrics.subscriptionsInTrouble(backlog.failing, backlog.disabled);
    },
    onError,
  );
}
