import { setTimeout as delay } from "node:timers/promises";
import { verdictOf } from "../../domain/webhooks/webhook.ts";
import type { AttemptResult, DeliveryVerdict } from "../../domain/webhooks/webhook.ts";
import { whileDatabaseIsAway } from "../../stores/patience.ts";
import type { AfterAttempt, DeliveryJob } from "../../stores/webhooks/attempts.ts";
import type { RecordAttempt } from "./record-attempts.ts";
import type { SendDelivery } from "./send.ts";

export interface AttemptDeps {
  readonly send: SendDelivery;
  readonly record: RecordAttempt;
  /** Delay before each attempt, counted from the previous failure (ms). */
  readonly schedule: readonly number[];
  readonly random?: () => number;
  readonly onAttempt?: (job: DeliveryJob, result: AttemptResult) => void;
}

/** The outcome of an attempt. */
export interface AttemptOutcome {
  readonly verdict: DeliveryVerdict;
  /** Null if the delivery was purged meanwhile. */
  readonly after: AfterAttempt | null;
}

/**
 * Makes an attempt, calls `onSent` once the receiver has responded or timed out, and then records the outcome. Rejects
 * if `signal` aborts, or the database cannot be written to.
 */
export type AttemptDelivery = (job: DeliveryJob, signal: AbortSignal, onSent: () => void) => Promise<AttemptOutcome>;

/** How long to retry recording an outcome while the database is unreachable (ms), because a lost outcome repeats the attempt. */
const RECORD_PATIENCE_MS = 60_000;

export function createAttemptDelivery(deps: AttemptDeps): AttemptDelivery {
  const { send, record, schedule, random = Math.random, onAttempt } = deps;
  return async (job, signal, onSent) => {
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
