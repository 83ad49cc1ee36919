import { uuidv7 } from "uuidv7";
import { selects, type DomainEvent } from "../../domain/webhooks/events.ts";
import type { Database } from "../../stores/db.ts";
import { eventsBetween, takeUnrelayed, relayWork } from "../../stores/webhooks/outbox.ts";
import { insertDeliveries, requeueDeliveries, type NewDelivery } from "../../stores/webhooks/deliveries.ts";
import { advanceReplay, takeReplay } from "../../stores/webhooks/replays.ts";
import { enabledSubscriptions, findEnabledSubscription } from "../../stores/webhooks/subscriptions.ts";
import { sampleRuns } from "../evals/sample-runs.ts";
import { queueRunEvents } from "../triggers/run-events.ts";
import { periodically } from "../../platform/periodically.ts";
import { listenToWebhooks } from "../../stores/webhooks/channel.ts";
import type { StartShard } from "../../temporal/deliveries.ts";
import { createAttemptDelivery, createRecordAttempt, type AttemptDeps, type RecordDeps } from "./record-attempts.ts";
import { createDeliverer, type DelivererDeps } from "./deliverer.ts";
import { createDeliverySlots } from "./slots.ts";

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

/** Events written within this time (ms) are relayed together. */
const RELAY_SPACING_MS = 75;

export interface WebhooksDeps
  extends
    Omit<AttemptDeps, "record">,
    Omit<RecordDeps, "db">,
    Pick<DelivererDeps, "db" | "shards" | "pollMs" | "timeoutMs" | "onError"> {
  readonly startShard: StartShard;
  /** Called when events have been relayed, because triggers may be due. */
  readonly onRelayed?: () => void;
  /** How often it checks that every shard has its workflow (ms). */
  readonly ensureMs: number;
  /** Most deliveries in flight, in total and per subscription. */
  readonly totalSlots: number;
  readonly slotsPerSubscription: number;
}

/**
 * Creates deliveries from events, and sends those in the shards that Temporal assigns to this process (see `deliverer`).
 * Any number of processes may take part.
 */
export function startWebhooks(deps: WebhooksDeps) {
  const { db, startShard, shards, pollMs, ensureMs, onError } = deps;
  const slots = createDeliverySlots(deps.totalSlots, deps.slotsPerSubscription);
  const attempt = createAttemptDelivery({ ...deps, record: createRecordAttempt(deps) });
  const deliverer = createDeliverer({ ...deps, slots, attempt });
  const relaying = periodically(pollMs, (isClosed) => relay(db, deps.onRelayed, isClosed), onError, {
    spacingMs: RELAY_SPACING_MS,
  });
  const listener = listenToWebhooks(db, {
    eventsWaiting: () => relaying.wake(),
    deliveriesDue: (subscriptionIds) => deliverer.due(subscriptionIds),
    lookAround() {
      relaying.wake();
      deliverer.lookAround();
    },
  });
  const ensuring = periodically(
    ensureMs,
    async () => {
      await Promise.all(Array.from({ length: shards }, (_, shard) => startShard(shard)));
    },
    onError,
  );
  ensuring.wake();

  return {
    deliverer,
    inUse: slots.inUse,
    async close(graceMs: number): Promise<void> {
      await Promise.all([ensuring.close(), relaying.close(), listener.close()]);
      await deliverer.close(graceMs);
    },
  };
}

/** Relays the backlog. A long replay alternates with new events. */
async function relay(db: Database, onRelayed: (() => void) | undefined, isClosed: () => boolean): Promise<void> {
  let { events, replays } = await db.system((connection) => relayWork(connection));
  while ((events || replays) && !isClosed()) {
    if (events) {
      events = await relayEvents(db);
      onRelayed?.();
    }
    if (replays) replays = await advanceReplays(db);
    // Relays the events written during a long replay.
    if (replays) ({ events } = await db.system((connection) => relayWork(connection)));
  }
}
