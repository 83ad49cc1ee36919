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
  /** Delay before each attempt, from the failure of the one before it (ms). */
  readonly schedule: readonly number[];
  readonly random?: () => number;
  readonly onAttempt?: (job: DeliveryJob, result: AttemptResult) => void;
}

/** What an attempt came to. */
export interface AttemptOutcome {
  readonly verdict: DeliveryVerdict;
  /** Null when the delivery was removed meanwhile. */
  readonly after: AfterAttempt | null;
}

/**
 * Makes an attempt and records it; in between, when the receiver has answered or its time is over, calls `onSent`. Rejects
 * when `signal` aborts, or the database cannot be written to.
 */
export type AttemptDelivery = (job: DeliveryJob, signal: AbortSignal, onSent: () => void) => Promise<AttemptOutcome>;

/** While the database is away, what came of an attempt is held so long (ms): forgotten, it would be made again. */
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
