import type { DeliveryInput, DeliveryStep } from "../../domain/webhooks/webhook.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { overdueDeliveries } from "../../stores/webhooks/deliveries.ts";
import type { DeliveryJob } from "../../stores/webhooks/deliveries.ts";
import { createAttemptDelivery } from "./attempt.ts";
import type { AttemptDeps } from "./attempt.ts";
import { createDispatcher } from "./dispatcher.ts";
import { advanceReplays, relayEvents } from "./relay.ts";
import { createRetryDelivery } from "./retry.ts";
import { createDeliverySlots } from "./slots.ts";

/** A delivery this much past its next attempt has no workflow, or one that is slow; starting it again harms nothing (ms). */
const OVERDUE_MS = 10_000;
const BATCH = 100;
/** How often ordered replays are looked for (ms). */
const REPLAY_MS = 1000;

export interface WebhooksDeps extends AttemptDeps {
  readonly db: Database;
  /** Starts the workflow of a delivery unless it is under way. */
  readonly startRetries: (input: DeliveryInput, delayMs: number) => Promise<void>;
  /** How often the outbox and the waiting deliveries are looked at (ms). */
  readonly pollMs: number;
  readonly sweepMs: number;
  /** Deliveries under way at once: in all, and to one subscription. */
  readonly totalSlots: number;
  readonly slotsPerSubscription: number;
  readonly onError: (error: unknown, job?: DeliveryJob) => void;
  readonly onSwept: (count: number) => void;
}

/** The delivery of events in this process. Any number of processes may do it beside each other. */
export interface Webhooks {
  /** One step of a delivery's workflow. */
  retry(input: DeliveryInput, signal: AbortSignal): Promise<DeliveryStep>;
  readonly inUse: () => number;
  close(graceMs: number): Promise<void>;
}

export function startWebhooks(deps: WebhooksDeps): Webhooks {
  const { db, startRetries, pollMs, sweepMs, onError, onSwept } = deps;
  const slots = createDeliverySlots(deps.totalSlots, deps.slotsPerSubscription);
  const attempt = createAttemptDelivery(deps);
  const dispatcher = createDispatcher({ db, slots, attempt, startRetries, onError }, () => dispatching.wake());

  const dispatching = periodically(pollMs, () => dispatcher.dispatch(), onError);
  const relaying = periodically(
    pollMs,
    async (isClosed) => {
      for (let more = true; more && !isClosed();) {
        const relayed = await relayEvents(db);
        if (relayed.deliveries > 0) dispatching.wake();
        more = relayed.more;
      }
    },
    onError,
  );
  // Somebody asked for these by hand: no event waits for them, and an idle service has no use for looking often.
  const replaying = periodically(
    Math.max(pollMs, REPLAY_MS),
    async (isClosed) => {
      while (!isClosed() && (await advanceReplays(db))) dispatching.wake();
    },
    onError,
  );
  const sweeping = periodically(
    sweepMs,
    async () => {
      const overdue = await db.system((connection) => overdueDeliveries(connection, OVERDUE_MS, BATCH));
      for (const { tries, ...delivery } of overdue) await startRetries({ ...delivery, attempt: tries + 1 }, 0);
      if (overdue.length > 0) onSwept(overdue.length);
    },
    onError,
  );

  return {
    retry: createRetryDelivery({ db, slots, attempt, ...(deps.random ? { random: deps.random } : {}) }),
    inUse: slots.inUse,
    async close(graceMs) {
      await Promise.all([sweeping.close(), relaying.close(), replaying.close(), dispatching.close()]);
      await dispatcher.close(graceMs);
    },
  };
}
