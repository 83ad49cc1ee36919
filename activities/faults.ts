import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import { EmbeddingError } from "../src/platform/embeddings/types.ts";
import { ResourceFailure } from "../src/domain/knowledge/resource-failure.ts";
import { isBlobOutage } from "../src/platform/blobs/blobs.ts";
import { isBusy } from "../src/platform/children/pool-failure.ts";
import { redactSecrets } from "../src/platform/logging/redaction.ts";
import { RunsNotSettled } from "../src/services/evals/run-experiment.ts";
import { isConnectionError } from "../src/stores/db.ts";
import { beat, carried } from "./attempts.ts";
import { wrapEach } from "./wrap-each.ts";

/** A bug may be transient, so a job fails only after this many attempts that hit one. */
export const MAX_FAULTS = 6;

/** The readable error in a job's row. */
export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** How to end each activity's job; null if its workflow ends it, or the job has no record. */
export type JobEnds<Activities> = {
  readonly [Name in keyof Activities]: Activities[Name] extends (input: infer Input) => unknown
    ? ((input: Input, error: JobError) => Promise<unknown>) | null
    : never;
};

/**
 * Wraps activities with a limit on failures. MAX_FAULTS bugs, or one failure that Temporal must not repeat, end the job
 * with an error that names the activity. Outages, such as an unreachable database, do not count.
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

/** The failure that ends the job; null if Temporal should retry. */
function finalFailure(activity: string, error: unknown, context: Context): ApplicationFailure | null {
  if (error instanceof CancelledFailure || context.cancellationSignal.aborted || isWaiting(error)) return null;
  if (error instanceof ApplicationFailure) return error.nonRetryable ? error : null;
  const faults = carried(context).faults + 1;
  if (faults < MAX_FAULTS) {
    // Counted in a heartbeat, whose details the next attempt receives.
    beat(context, { faults });
    return null;
  }
  return ApplicationFailure.create({
    message: `The step ${activity} failed ${MAX_FAULTS} times because of an internal error.`,
    type: "internal_error",
    nonRetryable: true,
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

/** Whether the error is an outage, or is counted elsewhere: steps of resources have their own limits. */
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
