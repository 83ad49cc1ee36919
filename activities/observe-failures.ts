import { ApplicationFailure, CancelledFailure, Context } from "@temporalio/activity";
import type { Logger } from "../src/platform/logging/logger.ts";
import type { Metrics } from "../src/platform/metrics.ts";
import { wrapEach } from "./wrap-each.ts";

/**
 * The code of failures that no node caused, such as an unreachable database or an internal error. Temporal retries the
 * activity.
 */
const INFRASTRUCTURE = "infrastructure";

/** Called for each attempt of an activity that failed. */
export type OnActivityFailure = (failure: {
  readonly activity: string;
  /** A NodeFailure's code, or "infrastructure". */
  readonly code: string;
  /** The activity's argument. */
  readonly input: unknown;
  /** Temporal's count of attempts, from 1. */
  readonly attempt: number;
  readonly error: unknown;
}) => void;

/**
 * Counts failed attempts of activities, and logs failures outside of nodes. A node's failure is logged where its
 * record is written.
 */
export function createFailureObserver(metrics: Metrics, logger: Logger): OnActivityFailure {
  return ({ activity, code, input, attempt, error: err }) => {
    metrics.activityFailed({ activity, code });
    if (code === INFRASTRUCTURE)
      logger.warn({ err, activity, attempt, ...subjectOf(input) }, "activity failed, retrying");
  };
}

/** Wraps activities: `onFailure` gets every error they throw, except cancellations. */
export function observeFailures<Activities extends object>(
  activities: Activities,
  onFailure: OnActivityFailure,
): Activities {
  return wrapEach(activities, (work, activity) => async (input) => {
    try {
      return await work(input);
    } catch (error) {
      if (!(error instanceof CancelledFailure)) {
        const code = error instanceof ApplicationFailure && error.type ? error.type : INFRASTRUCTURE;
        onFailure({ activity, code, input, attempt: Context.current().info.attempt, error });
      }
      throw error;
    }
  });
}

/** The run that an activity worked for, if its argument names one, for the log line. */
function subjectOf(input: unknown): Record<string, unknown> {
  const { run, path, ...own } = (input ?? {}) as Readonly<Record<string, unknown>>;
  const { org_id, run_id, project_id } = { ...own, ...(run as object | undefined) } as Readonly<
    Record<string, unknown>
  >;
  return { org_id, run_id, project_id, path };
}
