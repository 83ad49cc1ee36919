import { uuidv7 } from "uuidv7";
import { verdictOf } from "../../domain/webhooks/webhook.ts";
import type { AttemptResult, DeliveryVerdict } from "../../domain/webhooks/webhook.ts";
import type { Database } from "../../stores/db.ts";
import { isConnectionError } from "../../stores/db.ts";
import { recordAttempt } from "../../stores/webhooks/deliveries.ts";
import type { DeliveryJob } from "../../stores/webhooks/deliveries.ts";
import { disableSubscription } from "../../stores/webhooks/subscriptions.ts";
import type { SendDelivery } from "./send.ts";

export interface AttemptDeps {
  readonly db: Database;
  readonly send: SendDelivery;
  /** Delay before each attempt, from the failure of the one before it (ms). */
  readonly schedule: readonly number[];
  /** A subscription is disabled when every attempt has failed for so long, and there were at least so many. */
  readonly disableAfterMs: number;
  readonly disableAttempts: number;
  readonly random?: () => number;
  readonly onAttempt?: (job: DeliveryJob, result: AttemptResult, verdict: DeliveryVerdict) => void;
}

/** Makes an attempt and writes down what came of it. Rejects when `signal` aborts, or the database cannot be written to. */
export type AttemptDelivery = (job: DeliveryJob, signal: AbortSignal) => Promise<DeliveryVerdict>;

/** While the database is away, what came of an attempt is held so long (ms): forgotten, it would be made again. */
const RECORD_PATIENCE_MS = 60_000;
const RECORD_PAUSE_MS = 500;

export function createAttemptDelivery(deps: AttemptDeps): AttemptDelivery {
  const { db, send, schedule, disableAfterMs, disableAttempts, random = Math.random, onAttempt } = deps;

  async function record(job: DeliveryJob, result: AttemptResult, verdict: DeliveryVerdict): Promise<void> {
    const attempt = { delivery_id: job.delivery_id, round: job.round, result, verdict };
    if (result.ok) {
      await db.org(job.org_id, (connection) => recordAttempt(connection, attempt));
      return;
    }
    // Together: nobody sees a receiver that said it is gone, and a subscription that still counts on it.
    await db.orgTransaction(job.org_id, async (connection) => {
      const after = await recordAttempt(connection, attempt);
      const reason = !after.applied ? null : verdict.failure_reason === "gone" ? "gone" : onlyFails(after);
      if (reason === null) return;
      const { status_code, error_message } = result;
      const event = { event_id: uuidv7(), detail: { last_status_code: status_code, last_error: error_message } };
      await disableSubscription(connection, job.subscription_id, reason, event);
    });
  }

  function onlyFails(after: { failing_ms: number | null; failed_attempts: number }): "failing" | null {
    const { failing_ms, failed_attempts } = after;
    return failing_ms !== null && failing_ms >= disableAfterMs && failed_attempts >= disableAttempts ? "failing" : null;
  }

  return async (job, signal) => {
    const result = await send(job, signal);
    const verdict = verdictOf(result, job.tries + 1, schedule, random);
    for (const until = Date.now() + RECORD_PATIENCE_MS; ;) {
      try {
        await record(job, result, verdict);
        break;
      } catch (error) {
        if (!isConnectionError(error) || Date.now() > until || signal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, RECORD_PAUSE_MS));
      }
    }
    onAttempt?.(job, result, verdict);
    return verdict;
  };
}
