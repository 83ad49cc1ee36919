import {
  ActivityCancellationType,
  CancellationScope,
  proxyActivities,
  proxyLocalActivities,
  proxySinks,
  type ActivityOptions,
} from "@temporalio/workflow";
import type { HouseActivities } from "../activities/house/types.ts";
import type { LocalActivities } from "../activities/local-activities.ts";
import type { ProviderActivities } from "../activities/providers/types.ts";
import type { NodeActivities } from "../activities/runs/types.ts";
import type { WebhookActivities } from "../activities/webhooks/types.ts";
import { NODE_GRACE_MS } from "../src/domain/flow/plan/retry.ts";
import { inOrder } from "./engine/step-end.ts";
import type { RecordSinks } from "../src/domain/runs/record-sinks.ts";

/**
 * Local activities write the record, and evaluate expressions with values from the blob store. A node's own failure is never retried. An
 * outage, such as an unreachable database, is retried without limit, because giving up would lose an accepted run.
 */
const cancellable = proxyLocalActivities<LocalActivities>({
  startToCloseTimeout: "60 seconds",
  retry: { initialInterval: "100 milliseconds", backoffCoefficient: 2, maximumInterval: "5 seconds" },
  localRetryThreshold: "30 seconds",
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});

/**
 * Local activities are never cancelled once started, because they are short, and none starts in a cancelled scope. Cancelling one after it
 * has ended, but before the workflow has its result, would make the SDK's core fail the workflow task again and again.
 */
export const local: LocalActivities = new Proxy(cancellable, {
  get: (activities, name: keyof LocalActivities) => (input: never) =>
    uncancelled<unknown>(() => activities[name](input)),
});

async function uncancelled<T>(activity: () => Promise<T>): Promise<T> {
  const around = CancellationScope.current();
  if (around.consideredCancelled) return around.cancelRequested;
  return CancellationScope.nonCancellable(() => inOrder(activity()));
}

/** The last work of a workflow step, before Temporal learns of the step (see activities/runs/record-sink.ts). */
export const { record } = proxySinks<RecordSinks>();

/**
 * Regular activities with heartbeats. Temporal retries them without limit, because these retries are for dead workers and unreachable
 * databases; a final failure is thrown as non-retryable.
 */
const untilDone = (timeoutMs: number): ActivityOptions => ({
  startToCloseTimeout: timeoutMs + NODE_GRACE_MS,
  // After this time without a heartbeat, a worker counts as dead. A cancellation reaches an activity with its next heartbeat.
  heartbeatTimeout: "10 seconds",
  retry: { initialInterval: "500 milliseconds", backoffCoefficient: 2, maximumInterval: "15 seconds" },
  cancellationType: ActivityCancellationType.TRY_CANCEL,
});

/** The activities of a run's nodes. The workflow retries a node's own failures by the node's policy. */
export function nodeActivities(taskQueue: string, timeoutMs: number): NodeActivities {
  return proxyActivities<NodeActivities>({ ...untilDone(timeoutMs), taskQueue });
}

/** The activities of connections and of action runs. */
export function providerActivities(taskQueue: string, timeoutMs: number): ProviderActivities {
  return proxyActivities<ProviderActivities>({ ...untilDone(timeoutMs), taskQueue });
}

/** The activities on the workflow's own task queue, for all workflows except runs and deliveries. */
export function ownActivities<Activities>(timeoutMs: number): Activities {
  return proxyActivities<Activities>(untilDone(timeoutMs)) as Activities;
}

/** The deliveries of a shard. If a worker stops or dies, another one takes over; there is no limit to that. */
export function webhooks(taskQueue: string): WebhookActivities {
  return proxyActivities<WebhookActivities>({
    taskQueue,
    // Only an upper limit: a worker gives a shard back much earlier.
    startToCloseTimeout: "1 hour",
    heartbeatTimeout: "10 seconds",
    retry: { initialInterval: "200 milliseconds", backoffCoefficient: 2, maximumInterval: "5 seconds" },
  });
}

/** Long work for the whole installation, such as purges and erasures. If a worker stops or dies, another one continues. */
export function houseActivities(
  taskQueue: string,
  { activityId, attempts }: { readonly activityId?: string; readonly attempts?: number } = {},
): HouseActivities {
  return proxyActivities<HouseActivities>({
    taskQueue,
    ...(activityId === undefined ? {} : { activityId }),
    // Only an upper limit: the sweep of a large blob store takes hours.
    startToCloseTimeout: "1 day",
    heartbeatTimeout: "10 seconds",
    retry: {
      initialInterval: "1 second",
      backoffCoefficient: 2,
      maximumInterval: "30 seconds",
      ...(attempts === undefined ? {} : { maximumAttempts: attempts }),
    },
  });
}
