import type { Client } from "@temporalio/client";
import { inTime } from "./calls.ts";
import { taskQueues } from "./ids.ts";
import type { TaskQueues } from "./ids.ts";

type TaskType = "workflow" | "activity";

/** TASK_QUEUE_TYPE_WORKFLOW and TASK_QUEUE_TYPE_ACTIVITY of Temporal's API. */
const TYPE_CODES = { workflow: 1, activity: 2 } as const;

/** What workers poll for. Work of a kind without a poller stands still. */
const POLLED: { readonly [Queue in keyof TaskQueues]: readonly TaskType[] } = {
  runs: ["workflow"],
  nodes: ["activity"],
  ingest: ["workflow", "activity"],
  background: ["workflow", "activity"],
  webhooks: ["activity"],
};

/** A process that polls as a version of a worker deployment. */
interface PollingVersion {
  readonly deployment: string;
  readonly build_id: string;
  readonly process: string;
}

/** The state of a task queue. */
export interface QueueStats {
  readonly queue: keyof TaskQueues;
  readonly type: TaskType;
  /** Its name in Temporal. */
  readonly name: string;
  /** Worker processes that have polled it within the last minutes. */
  readonly pollers: number;
  /** The same for worker deployments, with the build of each process. */
  readonly versions: readonly PollingVersion[];
  /** Tasks that wait for a worker, and how long the oldest has waited (s); null if the server does not say. */
  readonly backlog: number | null;
  readonly backlog_age_seconds: number | null;
}

/**
 * Asks Temporal for the state of an installation's task queues: concurrent calls, one for each. Rejects within
 * seconds.
 */
export function describeQueues(client: Client, namespace: string, prefix: string): Promise<QueueStats[]> {
  const names = taskQueues(prefix);
  const all = (Object.keys(POLLED) as Array<keyof TaskQueues>).flatMap((queue) =>
    POLLED[queue].map(async (type): Promise<QueueStats> => {
      const { pollers, stats } = await client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: names[queue] },
        taskQueueType: TYPE_CODES[type],
        reportStats: true,
      });
      const age = stats?.approximateBacklogAge;
      return {
        queue,
        type,
        name: names[queue],
        // A process polls over several connections with one identity.
        pollers: new Set(pollers.map(({ identity }) => identity)).size,
        versions: pollers.flatMap(({ identity, deploymentOptions: version }) =>
          version?.deploymentName && version.buildId
            ? [{ deployment: version.deploymentName, build_id: version.buildId, process: identity ?? "" }]
            : [],
        ),
        backlog: stats ? Number(stats.approximateBacklogCount ?? 0) : null,
        backlog_age_seconds: stats ? Number(age?.seconds ?? 0) + (age?.nanos ?? 0) / 1e9 : null,
      };
    }),
  );
  return inTime(Promise.all(all));
}
