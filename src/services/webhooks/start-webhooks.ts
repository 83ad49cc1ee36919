import { periodically } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { listenToWebhooks } from "../../stores/webhooks/channel.ts";
import { relayWork } from "../../stores/webhooks/outbox.ts";
import type { StartShard } from "../../temporal/deliveries.ts";
import { createAttemptDelivery } from "./attempt.ts";
import type { AttemptDeps } from "./attempt.ts";
import { createDeliverer } from "./deliverer.ts";
import type { Deliverer, DelivererDeps } from "./deliverer.ts";
import { createRecordAttempt } from "./record-attempts.ts";
import type { RecordDeps } from "./record-attempts.ts";
import { advanceReplays, relayEvents } from "./relay.ts";
import { createDeliverySlots } from "./slots.ts";

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

/** The part of a process that delivers events. Any number of processes may take part. */
export interface Webhooks {
  readonly deliverer: Deliverer;
  readonly inUse: () => number;
  close(graceMs: number): Promise<void>;
}

/** Creates deliveries from events, and sends those in the shards that Temporal assigns to this process (see `deliverer`). */
export function startWebhooks(deps: WebhooksDeps): Webhooks {
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
    async close(graceMs) {
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
