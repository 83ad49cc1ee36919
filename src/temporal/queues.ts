import type { Client } from "@temporalio/client";
import { inTime } from "./calls.ts";
import { taskQueues, type TaskQueues } from "./ids.ts";

type TaskType = "workflow" | "activity";

/** TASK_QUEUE_TYPE_WORKFLOW and TASK_QUEUE_TYPE_ACTIVITY of Temporal's API. */
const TYPE_CODES = { workflow: 1, activity: 2 } as const;

/** What workers poll for. Work of a type without a poller makes no progress. */
export const POLLED: { readonly [Queue in keyof TaskQueues]: readonly TaskType[] } = {
  runs: ["workflow"],
  nodes: ["activity"],
  ingest: ["workflow", "activity"],
  background: ["workflow", "activity"],
  webhooks: ["activity"],
  house: ["activity"],
};

/**
 * A long poll lasts a minute at most, and Temporal lists a process for five minutes after its last one (ms). Processes that have polled no
 * queue for this long have stopped, or have no free slot.
 */
const SILENT_AFTER_MS = 70_000;

/** A process that polls as a version of a worker deployment. */
interface PollingVersion {
  readonly deployment: string;
  readonly build_id: string;
  readonly process: string;
}

/** The last poll of a process on a queue; no deployment: it polls without a version. */
interface Poll extends Omit<PollingVersion, "deployment" | "build_id"> {
  readonly deployment: string | null;
  readonly build_id: string | null;
  /** The time on Temporal's clock (ms). */
  readonly at: number;
}

/** The state of a task queue. */
export interface QueueStats {
  readonly queue: keyof TaskQueues;
  readonly type: TaskType;
  /** Its name in Temporal. */
  readonly name: string;
  /**
   * Number of worker processes that have polled it within the last minutes; none if all processes of a build have stopped polling since.
   */
  readonly pollers: number;
  /** When one of these processes last polled any queue (ms); null if there are none. */
  readonly polled_at: number | null;
  /** The same processes for worker deployments, with the build of each. */
  readonly versions: readonly PollingVersion[];
  /** Number of tasks that wait for a worker, and how long the oldest has waited (s); null if the server does not say. */
  readonly backlog: number | null;
  readonly backlog_age_seconds: number | null;
}

/** Asks Temporal for the state of an installation's task queues, with a concurrent call for each. Rejects within seconds. */
export async function describeQueues(
  client: Client,
  namespace: string,
  prefix: string,
  now: () => number = Date.now,
): Promise<QueueStats[]> {
  const names = taskQueues(prefix);
  const all = (Object.keys(POLLED) as Array<keyof TaskQueues>).flatMap((queue) =>
    POLLED[queue].map(async (type) => {
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
        polls: pollers.map(({ identity, deploymentOptions: version, lastAccessTime: time }): Poll => ({
          process: identity ?? "",
          deployment: version?.deploymentName || null,
          build_id: version?.buildId || null,
          at: time ? Number(time.seconds ?? 0) * 1000 + (time.nanos ?? 0) / 1e6 : now(),
        })),
        backlog: stats ? Number(stats.approximateBacklogCount ?? 0) : null,
        backlog_age_seconds: stats ? Number(age?.seconds ?? 0) + (age?.nanos ?? 0) / 1e9 : null,
      };
    }),
  );
  return withPollers(await inTime(Promise.all(all)), now());
}

/**
 * Determines for each queue which processes poll it. A process without a free slot does not poll, so its polls of other queues count, and
 * so do those of the other processes of its build, because Temporal may have seen only some of their polls.
 */
export function withPollers(
  queues: ReadonlyArray<Omit<QueueStats, "pollers" | "polled_at" | "versions"> & { readonly polls: readonly Poll[] }>,
  now: number,
): QueueStats[] {
  const last = new Map<string, number>();
  for (const { process, at } of queues.flatMap(({ polls }) => polls))
    last.set(process, Math.max(at, last.get(process) ?? at));
  return queues.map(({ polls, ...queue }) => {
    const buildOf = ({ deployment, build_id }: Poll): string => JSON.stringify([deployment, build_id]);
    const lastOf = (poll: Poll): number => last.get(poll.process) ?? poll.at;
    const heard = new Set(polls.filter((poll) => now - lastOf(poll) < SILENT_AFTER_MS).map(buildOf));
    const polling = polls.filter((poll) => heard.has(buildOf(poll)));
    return {
      ...queue,
      // A process polls over several connections with the same identity.
      pollers: new Set(polling.map(({ process }) => process)).size,
      polled_at: polling.length === 0 ? null : Math.max(...polling.map(lastOf)),
      versions: polling.flatMap(({ deployment, build_id, process }) =>
        deployment !== null && build_id !== null ? [{ deployment, build_id, process }] : [],
      ),
    };
  });
}
