import { uuidv7 } from "uuidv7";
import { verdictOf, type DisabledReason, type AttemptResult } from "../../domain/webhooks/webhook.ts";
import { isConnectionError, type Database } from "../../stores/db.ts";
import {
  recordAttempts,
  type AfterAttempt,
  type AttemptRecord,
  type DeliveryJob,
} from "../../stores/webhooks/attempts.ts";
import { disableSubscription } from "../../stores/webhooks/subscriptions.ts";
import { shareWrites } from "../shared-writes.ts";
import { setTimeout as delay } from "node:timers/promises";
import { whileDatabaseIsAway } from "../../stores/patience.ts";
import type { SendDelivery } from "./send.ts";

/** How long attempts are collected (ms), and how many one statement records. */
const GATHER_MS = 5;
const MAX_BATCH = 100;

export interface RecordDeps {
  readonly db: Database;
  /**
   * A subscription is disabled when all its attempts have failed for this time (ms), and there were at least
   * `disableAttempts`.
   */
  readonly disableAfterMs: number;
  readonly disableAttempts: number;
}

/**
 * Records one attempt in a batch with concurrent ones; null if its delivery was purged. Disables in the same transaction
 * subscriptions whose receiver returned 410 or whose attempts only fail.
 */
export function createRecordAttempt({ db, disableAfterMs, disableAttempts }: RecordDeps) {
  async function write(attempts: readonly AttemptRecord[]): Promise<AfterAttempt[]> {
    if (attempts.every(({ result }) => result.ok))
      return db.system((connection) => recordAttempts(connection, attempts));
    // One transaction, so that readers never see a 410 of a subscription that is still enabled.
    return db.systemTransaction(async (connection) => {
      const recorded = await recordAttempts(connection, attempts);
      const afterOf = new Map(recorded.map((after) => [after.delivery_id, after]));
      for (const { job, result, verdict } of attempts) {
        const reason = reasonToDisable(verdict.failure_reason === "gone", afterOf.get(job.delivery_id));
        if (result.ok || reason === null) continue;
        const detail = { last_status_code: result.status_code, last_error: result.error_message };
        await disableSubscription(connection, job.subscription_id, reason, { event_id: uuidv7(), detail });
      }
      return recorded;
    });
  }

  function reasonToDisable(gone: boolean, after: AfterAttempt | undefined): DisabledReason | null {
    if (!after?.applied) return null;
    if (gone) return "gone";
    const { failing_ms, failed_attempts } = after;
    return failing_ms !== null && failing_ms >= disableAfterMs && failed_attempts >= disableAttempts ? "failing" : null;
  }

  const share = shareWrites(write, isConnectionError, { maxTogether: MAX_BATCH, gatherMs: GATHER_MS });
  return async (attempt: AttemptRecord): Promise<AfterAttempt | null> =>
    (await share("attempts", attempt)).find((after) => after.delivery_id === attempt.job.delivery_id) ?? null;
}

export interface AttemptDeps {
  readonly send: SendDelivery;
  readonly record: ReturnType<typeof createRecordAttempt>;
  /** Delay before each attempt, counted from the previous failure (ms). */
  readonly schedule: readonly number[];
  readonly random?: () => number;
  readonly onAttempt?: (job: DeliveryJob, result: AttemptResult) => void;
}

/** How long to retry recording an outcome while the database is unreachable (ms), because a lost outcome repeats the attempt. */
const RECORD_PATIENCE_MS = 60_000;

export type AttemptDelivery = ReturnType<typeof createAttemptDelivery>;

/**
 * Makes an attempt, calls `onSent` once the receiver has responded or timed out, and then records the outcome; `after`
 * is null if the delivery was purged meanwhile. Rejects if `signal` aborts, or the database cannot be written to.
 */
export function createAttemptDelivery(deps: AttemptDeps) {
  const { send, record, schedule, random = Math.random, onAttempt } = deps;
  return async (job: DeliveryJob, signal: AbortSignal, onSent: () => void) => {
    const result = await send(job, signal);
    onSent();
    const verdict = verdictOf(result, job.tries + 1, schedule, random);
    const after = await whileDatabaseIsAway(() => record({ job, result, verdict }), {
      maxMs: RECORD_PATIENCE_MS,
      sleep: (ms) => (signal.aborted ? Promise.reject(signal.reason) : delay(ms)),
    });
    onAttempt?.(job, result);
    return { verdict, after };
  };
}
