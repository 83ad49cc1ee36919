import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import { EmbeddingError } from "../src/platform/embeddings/types.ts";
import { ResourceFailure } from "../src/domain/knowledge/resource-failure.ts";
import { isBlobOutage } from "../src/platform/blobs/blobs.ts";
import { isBusy } from "../src/platform/children/child-pool.ts";
import { redactSecrets } from "../src/platform/logging/redaction.ts";
import { RunsNotSettled } from "../src/services/evals/run-experiment.ts";
import { isConnectionError } from "../src/stores/db.ts";
import { beat, faultsBefore } from "./attempts.ts";
import { wrapEach } from "./wrap-each.ts";

/** A bug may be transient. After this many attempts the job has failed. */
export const MAX_FAULTS = 6;

/** The error of a job's row, for people. */
export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** How to end each activity's job; null if its workflow does that, or nobody reads it. */
export type JobEnds<Activities> = {
  readonly [Name in keyof Activities]: Activities[Name] extends (input: infer Input) => unknown
    ? ((input: Input, error: JobError) => Promise<unknown>) | null
    : never;
};

/**
 * The same activities, with a bound on failures. MAX_FAULTS bugs, or one failure that Temporal must not repeat, end the job with
 * an error that names the activity. Outages, such as an unreachable database, do not count.
 */
export function endFaulty<Activities extends object>(activities: Activities, ends: JobEnds<Activities>): Activities {
  return wrapEach(activities, (work, activity) => {
    const end = ends[activity as keyof Activities];
    return async (input) => {
      try {
        return await work(input);
      } catch (error) {
        const failure = finalFailure(activity, error, Context.current());
        if (failure === null) throw error;
        await end?.(input, jobErrorOf(failure)).catch((fault: unknown) => {
          // If the database is unreachable the activity is retried. After any other failure to write, the job ends
          // anyway.
          if (isWaiting(fault)) throw error;
        });
        throw failure;
      }
    };
  });
}

function jobErrorOf({ type, message }: ApplicationFailure): JobError {
  return { code: type ?? "internal_error", message: redactSecrets(message) };
}

/** Null if Temporal should retry. */
function finalFailure(activity: string, error: unknown, context: Context): ApplicationFailure | null {
  if (error instanceof CancelledFailure || context.cancellationSignal.aborted || isWaiting(error)) return null;
  if (error instanceof ApplicationFailure) return error.nonRetryable ? error : null;
  const faults = faultsBefore(context) + 1;
  if (faults < MAX_FAULTS) {
    // The next attempt gets the details of the last heartbeat.
    beat(context, { faults });
    return null;
  }
  return ApplicationFailure.create({
    message: `The step ${activity} failed ${MAX_FAULTS} times because of a fault of the service.`,
    type: "internal_error",
    nonRetryable: true,
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

/** Whether it is an outage, or counted elsewhere: the steps of resources have limits of their own. */
function isWaiting(error: unknown): boolean {
  return (
    isConnectionError(error) ||
    isBusy(error) ||
    isBlobOutage(error) ||
    error instanceof RunsNotSettled ||
    error instanceof ResourceFailure ||
    error instanceof EmbeddingError
  );
}
