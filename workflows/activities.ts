import {
  ActivityCancellationType,
  CancellationScope,
  proxyActivities,
  proxyLocalActivities,
  proxySinks,
  workflowInfo,
} from "@temporalio/workflow";
import type { LocalActivities, RegularActivities, WebhookActivities } from "../activities/index.ts";
import type { RecordSinks } from "../src/domain/runs/record-sinks.ts";

/**
 * Local activities write the record and evaluate what needs values from the blob store. What fails in them is either a
 * node's own failure (never retried) or infrastructure, such as a database that is gone: that is waited for without limit,
 * since giving up would lose an accepted run.
 */
const cancellable = proxyLocalActivities<LocalActivities>({
  startToCloseTimeout: "60 seconds",
  retry: { initialInterval: "100 milliseconds", backoffCoefficient: 2, maximumInterval: "5 seconds" },
  localRetryThreshold: "30 seconds",
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});

/**
 * None of them is cancelled once it has begun, and none begins in a scope that was cancelled: they are short, and the SDK's
 * core fails the step, again and again, when one is cancelled whose end it knows and the workflow does not yet.
 */
export const local = new Proxy(cancellable, {
  get: (activities, name: keyof LocalActivities) => (input: never) =>
    endsByItself(() => activities[name](input) as Promise<unknown>),
});

async function endsByItself<T>(activity: () => Promise<T>): Promise<T> {
  const around = CancellationScope.current();
  if (around.consideredCancelled) return around.cancelRequested;
  return CancellationScope.nonCancellable(activity);
}

/** What is done at the end of a step, before Temporal learns of the step; see activities/runs/record-sink.ts. */
export const { record } = proxySinks<RecordSinks>();

/**
 * Time a worker has, after a node's own time-out, to say so. Long, for it may have to wait until the database is there to
 * write it down; a worker that is gone is noticed by its heartbeats.
 */
const GRACE_MS = 900_000;

/**
 * Regular activities. Their retry policy is for workers that die and databases that are gone, hence without limit; a node's
 * own failures are never retried by Temporal, because the workflow does that by the node's policy.
 */
export function regular(timeoutMs: number): RegularActivities {
  return proxyActivities<RegularActivities>({
    taskQueue: workflowInfo().taskQueue.replace(/-runs$/, "-activities"),
    startToCloseTimeout: timeoutMs + GRACE_MS,
    // A worker that is gone is noticed after this time; cancellation reaches an activity with its next heartbeat.
    heartbeatTimeout: "10 seconds",
    retry: { initialInterval: "500 milliseconds", backoffCoefficient: 2, maximumInterval: "15 seconds" },
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  });
}

/**
 * Attempts to deliver an event. The row of the delivery decides what an attempt that is repeated does, so what fails here
 * is infrastructure, and is tried until it is there again.
 */
export function webhooks(runQueue: string): WebhookActivities {
  return proxyActivities<WebhookActivities>({
    taskQueue: runQueue.replace(/-runs$/, "-webhooks"),
    // The receiver's time to answer, and then some for a database that is away.
    startToCloseTimeout: "5 minutes",
    heartbeatTimeout: "20 seconds",
    retry: { initialInterval: "1 second", backoffCoefficient: 2, maximumInterval: "1 minute" },
  });
}
