import { setMaxListeners } from "node:events";
import { shardOf } from "../../domain/webhooks/shards.ts";
import { periodically } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { roundRobin } from "../../domain/shares.ts";
import {
  claimDeliveries,
  dueSubscriptions,
  organisationsOf,
  type DeliveryJob,
  type DueSubscription,
} from "../../stores/webhooks/attempts.ts";
import type { AttemptDelivery } from "./record-attempts.ts";
import { reserve, type DeliverySlot, type DeliverySlots, type Reservation } from "./slots.ts";

/** Most subscriptions whose deliveries one statement claims. */
const MAX_SUBSCRIPTIONS = 500;
/** Shortest time between two claims (ms), so that each claim takes all deliveries collected meanwhile. */
const CLAIM_SPACING_MS = 10;
/** A claim lasts for the receiver's timeout plus this time for recording the attempt (ms). */
const CLAIM_MARGIN_MS = 10_000;
/**
 * If the claiming query took longer than this (ms), its deliveries are not sent, because the claim could expire during
 * the request.
 */
const MAX_CLAIM_QUERY_MS = 5000;

export interface DelivererDeps {
  readonly db: Database;
  readonly slots: DeliverySlots;
  readonly attempt: AttemptDelivery;
  readonly shards: number;
  /** How often deliveries are polled, in case notifications were lost (ms). */
  readonly pollMs: number;
  /** Time limit for a receiver's response (ms). */
  readonly timeoutMs: number;
  readonly onError: (error: unknown, job?: DeliveryJob) => void;
}

export type Deliverer = ReturnType<typeof createDeliverer>;

/**
 * Makes the deliveries of the shards that this process owns. The rows are the only schedule; memory holds just the
 * time at which to check a subscription's rows next, and a wrong time does no harm. A shard may briefly have two
 * owners, because each delivery belongs to the process that has claimed it.
 */
export function createDeliverer(deps: DelivererDeps) {
  const { db, slots, attempt, shards, pollMs, timeoutMs, onError } = deps;
  const claimMs = timeoutMs + CLAIM_MARGIN_MS;
  const owners = new Map<number, number>();
  /** When to check each subscription next (ms, monotonic). */
  const dueAt = new Map<string, number>();
  const failing = new Set<string>();
  /** The organisation of each subscription, to which its slots are counted. */
  const orgOf = new Map<string, string>();
  const underWay = new Map<string, Promise<void>>();
  let stopping = false;
  let stop = (): void => undefined;
  const leaving = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const abort = new AbortController();
  // Each delivery in flight adds one listener, so Node should warn of a leak only above the number of slots.
  setMaxListeners(slots.total, abort.signal);

  const scanning = periodically(
    pollMs,
    async () => {
      const own = [...owners.keys()];
      if (own.length === 0) return;
      const due = await db.system((connection) => dueSubscriptions(connection, { count: shards, own }));
      due.forEach(note);
      claiming.wake();
    },
    onError,
  );
  const claiming = periodically(pollMs, claim, onError, { spacingMs: CLAIM_SPACING_MS });

  function look(subscriptionId: string, at: number): void {
    if (!owners.has(shardOf(subscriptionId, shards))) return;
    dueAt.set(subscriptionId, Math.min(at, dueAt.get(subscriptionId) ?? Infinity));
  }

  function note({ subscription_id, org_id, failing: fails, due_in_ms }: DueSubscription): void {
    orgOf.set(subscription_id, org_id);
    if (fails) failing.add(subscription_id);
    else failing.delete(subscription_id);
    if (due_in_ms !== null) look(subscription_id, performance.now() + due_in_ms);
  }

  /** Claims due deliveries while there are free slots. Returns the time until the next check (ms). */
  async function claim(): Promise<number | undefined> {
    if (stopping) return undefined;
    const since = performance.now();
    const due = [...dueAt].filter(([, at]) => at <= since).toSorted(([, a], [, b]) => a - b);
    await learnOrganisations(due.map(([subscriptionId]) => subscriptionId));
    const ready = due
      .map(([subscription_id]) => ({
        subscription_id,
        // A deleted subscription has no organisation, and none of its deliveries can be claimed.
        org_id: orgOf.get(subscription_id) ?? subscription_id,
        failing: failing.has(subscription_id),
      }))
      .filter((each) => slots.isFree(each));
    const wanted = reserve(roundRobin(ready, ({ org_id }) => org_id).slice(0, MAX_SUBSCRIPTIONS), slots);
    if (wanted.length > 0) await claimReserved(wanted, since);
    // Deliveries that are already due lack a slot; a slot that becomes free wakes this loop.
    const next = [...dueAt.values()].filter((at) => at > since);
    return ready.length > wanted.length && wanted.length > 0 ? 0 : soonest(next);
  }

  /** Reads the organisations of subscriptions, because notices name only the subscription. */
  async function learnOrganisations(subscriptionIds: readonly string[]): Promise<void> {
    const unknown = subscriptionIds.filter((id) => !orgOf.has(id));
    if (unknown.length === 0) return;
    const found = await db.system((connection) => organisationsOf(connection, unknown));
    for (const { subscription_id, org_id } of found) orgOf.set(subscription_id, org_id);
  }

  async function claimReserved(reserved: readonly Reservation[], since: number): Promise<void> {
    // Removed before the query, so that a notice which arrives during the query is kept.
    for (const { subscription_id } of reserved) dueAt.delete(subscription_id);
    const wanted = reserved.map((each) => ({ subscription_id: each.subscription_id, count: each.slots.length }));
    const slotsOf = new Map(reserved.map((each) => [each.subscription_id, each.slots]));
    try {
      const claimed = await db.system((connection) =>
        claimDeliveries(connection, wanted, [...underWay.keys()], claimMs),
      );
      const isLate = performance.now() - since > MAX_CLAIM_QUERY_MS;
      for (const job of isLate ? [] : claimed.jobs) {
        const slot = slotsOf.get(job.subscription_id)?.pop();
        if (slot) begin(job, slot);
      }
      claimed.subscriptions.forEach(note);
    } catch (error) {
      for (const { subscription_id } of reserved) look(subscription_id, since);
      throw error;
    } finally {
      for (const each of reserved) for (const slot of each.slots) slot.release();
    }
  }

  function begin(job: DeliveryJob, slot: DeliverySlot): void {
    const release = (): void => {
      slot.release();
      claiming.wake();
    };
    const work = deliver(job, release)
      .catch((error: unknown) => {
        look(job.subscription_id, performance.now() + claimMs);
        if (!abort.signal.aborted) onError(error, job);
      })
      .finally(() => {
        underWay.delete(job.delivery_id);
        release();
      });
    underWay.set(job.delivery_id, work);
  }

  // A slot is held only during the request. Deliveries that wait to be recorded need no slot: further claims wait for
  // the same database, which bounds them.
  async function deliver(job: DeliveryJob, onSent: () => void): Promise<void> {
    const { verdict, after } = await attempt(job, abort.signal, onSent);
    if (verdict.status === "delivered") failing.delete(job.subscription_id);
    else failing.add(job.subscription_id);
    // A redelivery was requested while the attempt was in flight, so the delivery is due immediately.
    const delay = after?.applied === false ? 0 : verdict.delay_ms;
    if (delay !== null) look(job.subscription_id, performance.now() + delay);
  }

  function leave(): void {
    stopping = true;
    stop();
  }

  return {
    /** Owns a shard until the returned function is called; null if the process is stopping. */
    own(shard: number): (() => void) | null {
      if (stopping) return null;
      owners.set(shard, (owners.get(shard) ?? 0) + 1);
      scanning.wake();
      return () => {
        const others = (owners.get(shard) ?? 1) - 1;
        if (others > 0) return void owners.set(shard, others);
        owners.delete(shard);
        const isGone = (id: string): boolean => shardOf(id, shards) === shard;
        for (const id of [...dueAt.keys()].filter(isGone)) dueAt.delete(id);
        for (const id of [...failing].filter(isGone)) failing.delete(id);
        for (const id of [...orgOf.keys()].filter(isGone)) orgOf.delete(id);
      };
    },
    /** Resolves when the process is stopping, so that its shards go to others. */
    leaving,
    leave,
    /** Deliveries to these subscriptions may be due. */
    due(subscriptionIds: readonly string[]): void {
      for (const id of subscriptionIds) look(id, performance.now());
      claiming.wake();
    },
    /** Checks all rows, because notices may have been lost. */
    lookAround: () => scanning.wake(),
    /**
     * Claims no further deliveries and waits for those in flight. After `graceMs` they are aborted, and are due again
     * once their claim expires.
     */
    async close(graceMs: number): Promise<void> {
      leave();
      await Promise.all([scanning.close(), claiming.close()]);
      const force = setTimeout(() => abort.abort(new Error("the process is stopping")), graceMs);
      while (underWay.size > 0) await Promise.allSettled(underWay.values());
      clearTimeout(force);
    },
  };
}

function soonest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.min(...times) - performance.now();
}
