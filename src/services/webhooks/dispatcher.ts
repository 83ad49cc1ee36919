import { setMaxListeners } from "node:events";
import type { DeliveryInput } from "../../domain/webhooks/webhook.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { claimDeliveries, failDelivery, renewLeases, waitingSubscriptions } from "../../stores/webhooks/deliveries.ts";
import type { DeliveryJob, WaitingSubscription } from "../../stores/webhooks/deliveries.ts";
import type { AttemptDelivery } from "./attempt.ts";
import type { DeliverySlots } from "./slots.ts";

/** Subscriptions looked at in one round, and deliveries taken at once. */
const MOST_SUBSCRIPTIONS = 500;
const MOST_CLAIMED = 100;
/** A process that is gone is believed so after this time, and its deliveries are taken by others (ms). */
const LEASE_MS = 10_000;
const RENEW_MS = 3000;

export interface DispatcherDeps {
  readonly db: Database;
  readonly slots: DeliverySlots;
  readonly attempt: AttemptDelivery;
  /** Starts the workflow that makes the further attempts of a delivery. */
  readonly startRetries: (input: DeliveryInput, delayMs: number) => Promise<void>;
  readonly onError: (error: unknown, job?: DeliveryJob) => void;
}

/** Makes the first attempt of each delivery. */
export interface Dispatcher {
  /** Takes what waits, as far as there are free places. */
  dispatch(): Promise<void>;
  /** Takes nothing more and waits for what is under way; after `graceMs` it is broken off, to be made again by others. */
  close(graceMs: number): Promise<void>;
}

/**
 * The first attempt needs no workflow: it is made straight from the delivery's row, under a lease, and most deliveries
 * end with it. One that fails is handed to its workflow, which outlives this process. `onFree` is called when a place
 * has become free.
 */
export function createDispatcher(deps: DispatcherDeps, onFree: () => void): Dispatcher {
  const { db, slots, attempt, startRetries, onError } = deps;
  const underWay = new Map<string, Promise<void>>();
  const renewing = periodically(
    RENEW_MS,
    async () => {
      const ids = [...underWay.keys()];
      if (ids.length > 0) await db.system((connection) => renewLeases(connection, ids, LEASE_MS));
    },
    onError,
  );
  const breakOff = new AbortController();
  // Each delivery under way listens once, and there are as many as places: only more than that would be a leak to warn of.
  setMaxListeners(slots.left(false), breakOff.signal);
  let closed = false;

  async function deliver(job: DeliveryJob): Promise<void> {
    if (!job.active) {
      await db.system((connection) => failDelivery(connection, job, "subscription_disabled"));
      return;
    }
    const verdict = await attempt(job, breakOff.signal);
    if (verdict.delay_ms === null) return;
    const { org_id, delivery_id, round, tries } = job;
    // Should this fail, or this process die here, the sweeper finds the delivery overdue.
    await startRetries({ org_id, delivery_id, round, attempt: tries + 2 }, verdict.delay_ms);
  }

  function begin(job: DeliveryJob): void {
    // Its lease ended because the database was away, and what came of it is about to be written.
    if (underWay.has(job.delivery_id)) return;
    const slot = slots.take(job.subscription_id, job.failing);
    // No place after all (another kind of delivery took it): the lease ends, and somebody takes it again.
    if (slot === null) return;
    const work = deliver(job)
      .catch((error: unknown) => {
        if (!breakOff.signal.aborted) onError(error, job);
      })
      .finally(() => {
        slot.release();
        underWay.delete(job.delivery_id);
        onFree();
      });
    underWay.set(job.delivery_id, work);
  }

  return {
    async dispatch() {
      if (closed || slots.left(false) === 0) return;
      const waiting = await db.system((connection) => waitingSubscriptions(connection, MOST_SUBSCRIPTIONS));
      const wanted = shares(waiting, slots);
      if (wanted.length === 0 || closed) return;
      for (const job of await db.system((connection) => claimDeliveries(connection, wanted, LEASE_MS))) begin(job);
    },
    async close(graceMs) {
      closed = true;
      const force = setTimeout(() => breakOff.abort(new Error("the process is stopping")), graceMs);
      while (underWay.size > 0) await Promise.allSettled(underWay.values());
      clearTimeout(force);
      await renewing.close();
    },
  };
}

/** How many deliveries to take of which subscription: one of each in turn, until the places are used up. */
export function shares(
  waiting: readonly WaitingSubscription[],
  slots: Pick<DeliverySlots, "free" | "left">,
): { subscription_id: string; count: number }[] {
  let left = Math.min(MOST_CLAIMED, slots.left(false));
  // Those that fail share what is theirs among themselves.
  let leftForFailing = Math.min(left, slots.left(true));
  const open = waiting.map((each) => ({ ...each, count: 0, most: slots.free(each.subscription_id, each.failing) }));
  for (let gave = true; gave && left > 0;) {
    gave = false;
    for (const each of open) {
      if (left === 0) break;
      if (each.count >= each.most || (each.failing && leftForFailing === 0)) continue;
      each.count += 1;
      left -= 1;
      if (each.failing) leftForFailing -= 1;
      gave = true;
    }
  }
  return open.filter((each) => each.count > 0).map(({ subscription_id, count }) => ({ subscription_id, count }));
}
