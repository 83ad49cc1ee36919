import type { DeliveryInput } from "../domain/webhook.ts";
import type { Database } from "../stores/db.ts";
import { claimDeliveries, failDelivery, waitingSubscriptions } from "../stores/webhook-deliveries.ts";
import type { DeliveryJob, WaitingSubscription } from "../stores/webhook-deliveries.ts";
import type { AttemptDelivery } from "./attempt.ts";
import type { DeliverySlots } from "./slots.ts";

/** Subscriptions looked at in one round, and deliveries taken at once. */
const MOST_SUBSCRIPTIONS = 500;
const MOST_CLAIMED = 100;

export interface DispatcherDeps {
  readonly db: Database;
  readonly slots: DeliverySlots;
  readonly attempt: AttemptDelivery;
  /** Starts the workflow that makes the further attempts of a delivery. */
  readonly startRetries: (input: DeliveryInput, delayMs: number) => Promise<void>;
  /** Longer than an attempt and its record may take (ms). */
  readonly leaseMs: number;
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
  const { db, slots, attempt, startRetries, leaseMs, onError } = deps;
  const underWay = new Set<Promise<void>>();
  const breakOff = new AbortController();
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
    const slot = slots.take(job.subscription_id, job.failing);
    // No place after all (another kind of delivery took it): the lease ends, and somebody takes it again.
    if (slot === null) return;
    const work: Promise<void> = deliver(job)
      .catch((error: unknown) => {
        if (!breakOff.signal.aborted) onError(error, job);
      })
      .finally(() => {
        slot.release();
        underWay.delete(work);
        onFree();
      });
    underWay.add(work);
  }

  return {
    async dispatch() {
      if (closed || slots.free("", false) === 0) return;
      const waiting = await db.system((connection) => waitingSubscriptions(connection, MOST_SUBSCRIPTIONS));
      const wanted = shares(waiting, slots);
      if (wanted.length === 0 || closed) return;
      for (const job of await db.system((connection) => claimDeliveries(connection, wanted, leaseMs))) begin(job);
    },
    async close(graceMs) {
      closed = true;
      const force = setTimeout(() => breakOff.abort(new Error("the process is stopping")), graceMs);
      while (underWay.size > 0) await Promise.allSettled(underWay);
      clearTimeout(force);
    },
  };
}

/** How many deliveries to take of which subscription: one of each in turn, until the places are used up. */
export function shares(
  waiting: readonly WaitingSubscription[],
  slots: Pick<DeliverySlots, "free">,
): { subscription_id: string; count: number }[] {
  let left = Math.min(MOST_CLAIMED, slots.free("", false));
  // Those that fail share what is theirs among themselves.
  let leftForFailing = Math.min(left, slots.free("", true));
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
