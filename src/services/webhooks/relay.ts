import { uuidv7 } from "uuidv7";
import { selects } from "../../domain/webhooks/events.ts";
import type { DomainEvent } from "../../domain/webhooks/events.ts";
import type { Database } from "../../stores/db.ts";
import { eventsBetween, takeUnrelayed } from "../../stores/webhooks/outbox.ts";
import { insertDeliveries, requeueDeliveries } from "../../stores/webhooks/deliveries.ts";
import type { NewDelivery } from "../../stores/webhooks/deliveries.ts";
import { advanceReplay, takeReplay } from "../../stores/webhooks/replays.ts";
import { enabledSubscriptions, findEnabledSubscription } from "../../stores/webhooks/subscriptions.ts";
import { sampleRuns } from "../evals/sample-runs.ts";
import { queueRunEvents } from "../triggers/run-events.ts";

const BATCH = 500;

/**
 * Turns the next events of the outbox into deliveries, firings of triggers and samples of monitors, in one transaction.
 * After any crash an event is either still waiting or has all of its deliveries. True if more events may wait.
 */
export function relayEvents(db: Database): Promise<boolean> {
  return db.systemTransaction(async (connection) => {
    const events = await takeUnrelayed(connection, BATCH);
    if (events.length === 0) return false;
    const orgIds = [...new Set(events.map((event) => event.org_id))];
    const subscriptions = await enabledSubscriptions(connection, orgIds);
    const deliveries = events.flatMap((event) =>
      subscriptions
        .filter(
          (subscription) =>
            subscription.org_id === event.org_id &&
            // A subscription gets only events since its creation.
            subscription.created_at <= event.occurred_at &&
            selects(subscription, event),
        )
        .map((subscription) => deliveryOf(event, subscription.subscription_id)),
    );
    if (deliveries.length > 0) await insertDeliveries(connection, deliveries);
    await queueRunEvents(connection, events);
    await sampleRuns(connection, events);
    return events.length === BATCH;
  });
}

/** Advances the oldest replay by one batch of events, in one transaction. True if there may be more to do. */
export function advanceReplays(db: Database): Promise<boolean> {
  return db.systemTransaction(async (connection) => {
    const replay = await takeReplay(connection);
    if (replay === null) return false;
    const events = await eventsBetween(connection, { ...replay, beyond: replay.position, limit: BATCH });
    const finished = events.length < BATCH;
    const subscription = await findEnabledSubscription(connection, replay.subscription_id);
    const deliveries =
      subscription === null
        ? []
        : events
            .filter((event) => selects(subscription, event) && selects({ ...replay, project_ids: null }, event))
            .map((event) => deliveryOf(event, replay.subscription_id));
    await advanceReplay(connection, replay.replay_id, {
      position: events.at(-1)?.seq ?? replay.position,
      queued: deliveries.length === 0 ? 0 : await requeueDeliveries(connection, deliveries, replay.only_failed),
      // A replay also ends if its subscription was disabled or deleted.
      finished: finished || subscription === null,
    });
    return true;
  });
}

function deliveryOf(event: DomainEvent, subscription_id: string): NewDelivery {
  const { org_id, event_id, type } = event;
  return { delivery_id: uuidv7(), org_id, subscription_id, event_id, event_type: type };
}
