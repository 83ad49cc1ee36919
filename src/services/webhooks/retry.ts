import type { DeliveryInput, DeliveryStep } from "../../domain/webhooks/webhook.ts";
import type { Database } from "../../stores/db.ts";
import { failDelivery, loadDeliveryJob } from "../../stores/webhooks/deliveries.ts";
import type { AttemptDelivery } from "./attempt.ts";
import type { DeliverySlots } from "./slots.ts";

/** A delivery that finds no place, or whose receiver wants to be left alone, comes back after about this time (ms), longer each time. */
const POSTPONED_MS = 2000;
const MOST_POSTPONED_MS = 300_000;

export interface RetryDeps {
  readonly db: Database;
  readonly slots: DeliverySlots;
  readonly attempt: AttemptDelivery;
  readonly random?: () => number;
}

/**
 * What the workflow of a delivery does at each of its steps: attempt number `attempt` of the round, unless the delivery
 * has come further already or has ended. Postponed, it is the same attempt that comes next.
 */
export function createRetryDelivery({ db, slots, attempt, random = Math.random }: RetryDeps) {
  return async (input: DeliveryInput, signal: AbortSignal): Promise<DeliveryStep> => {
    const job = await db.system((connection) => loadDeliveryJob(connection, input.delivery_id));
    if (job === null || job.round !== input.round || job.status !== "retrying") return { done: true };
    if (!job.active) {
      await db.system((connection) => failDelivery(connection, job, "subscription_disabled"));
      return { done: true };
    }
    // The attempt was made and recorded, and then its worker died: what is next is in the row.
    if (job.tries >= input.attempt) {
      const delay_ms = Math.max(0, Date.parse(job.next_attempt_at ?? "") - Date.now()) || 0;
      return { done: false, attempt: job.tries + 1, delay_ms, postponed: 0 };
    }
    const slot = job.hold_ms > 0 ? null : slots.take(job.subscription_id, job.failing);
    if (slot === null) {
      const postponed = (input.postponed ?? 0) + 1;
      const pause = Math.min(MOST_POSTPONED_MS, POSTPONED_MS * 2 ** Math.min(postponed - 1, 10));
      const delay_ms = Math.round(Math.max(job.hold_ms, pause * (0.5 + random())));
      return { done: false, attempt: input.attempt, delay_ms, postponed };
    }
    try {
      const verdict = await attempt(job, signal);
      if (verdict.delay_ms === null) return { done: true };
      return { done: false, attempt: job.tries + 2, delay_ms: verdict.delay_ms, postponed: 0 };
    } finally {
      slot.release();
    }
  };
}
