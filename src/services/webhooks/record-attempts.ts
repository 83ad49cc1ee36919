import { uuidv7 } from "uuidv7";
import type { DisabledReason } from "../../domain/webhooks/webhook.ts";
import type { Database } from "../../stores/db.ts";
import { isConnectionError } from "../../stores/db.ts";
import { recordAttempts } from "../../stores/webhooks/attempts.ts";
import type { AfterAttempt, AttemptRecord } from "../../stores/webhooks/attempts.ts";
import { disableSubscription } from "../../stores/webhooks/subscriptions.ts";
import { shareWrites } from "../shared-writes.ts";

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

/** Records one attempt in a batch with concurrent ones; null if its delivery was purged. */
export type RecordAttempt = (attempt: AttemptRecord) => Promise<AfterAttempt | null>;

/**
 * Records attempts, and in the same transaction disables subscriptions whose receiver returned 410 or whose attempts
 * only fail.
 */
export function createRecordAttempt({ db, disableAfterMs, disableAttempts }: RecordDeps): RecordAttempt {
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
  return async (attempt) =>
    (await share("attempts", attempt)).find((after) => after.delivery_id === attempt.job.delivery_id) ?? null;
}
