import type { Client } from "@temporalio/client";
import type { WorkerDeploymentVersion } from "@temporalio/common";
import type { Config } from "../config.ts";
import { describeQueues } from "./queues.ts";
import type { QueueStats } from "./queues.ts";

/** How one build of a deployment stands. */
export interface BuildStatus {
  readonly build_id: string;
  readonly state: "current" | "ramping" | "draining" | "idle";
  /** Processes of it that have polled within the last minutes. */
  readonly pollers: number;
  /** Kinds of work that none of them takes, such as "workflow tasks of runs". */
  readonly unpolled: readonly string[];
  /** Workflows under way that stay on it. */
  readonly pinned: number;
}

/** Whether there are workflows on a build that nobody takes on. */
export const isStranded = ({ pinned, unpolled }: BuildStatus): boolean => pinned > 0 && unpolled.length > 0;

export interface DeploymentStatus {
  readonly deployment: string;
  readonly current: string | null;
  readonly ramping: { readonly build_id: string; readonly percentage: number } | null;
  readonly builds: readonly BuildStatus[];
}

/** The worker deployment of an installation, in Temporal. Nobody waits for it in a request: the SDK may try calls again. */
export interface Deployment {
  /** Undefined before the first worker of it has polled. */
  status(): Promise<DeploymentStatus | undefined>;
  /** Workflows under way on builds some of whose work nobody takes, by the queues as they stand. */
  countStranded(queues: readonly QueueStats[]): Promise<number>;
  /** Which builds new workflows begin on. */
  routing(): Promise<Pick<DeploymentStatus, "current" | "ramping"> | undefined>;
  /** Null: workers without a deployment. */
  setCurrent(buildId: string | null): Promise<void>;
  /** Null ends it. */
  ramp(buildId: string | null, percentage: number): Promise<void>;
  /** Moves workflows under way from one build to another. Answers how many. */
  move(from: string, to: string): Promise<number>;
}

/** gRPC's NOT_FOUND. */
const NOT_FOUND = 5;
/** PINNED_OVERRIDE_BEHAVIOR_PINNED of Temporal's API. */
const PINNED = 1;

/** The version that a process of this configuration has; undefined where the installation has no deployment. */
export function versionOf(config: Config): WorkerDeploymentVersion | undefined {
  const { MILLRACE_DEPLOYMENT: deploymentName, MILLRACE_BUILD_ID: buildId } = config;
  return deploymentName === undefined || buildId === undefined ? undefined : { deploymentName, buildId };
}

export function createDeployment(client: Client, deploymentName: string, taskQueuePrefix: string): Deployment {
  const { namespace } = client.options;
  const service = client.workflowService;
  const identity = client.options.identity;
  const onBuilds = (buildIds: readonly string[]): string => {
    const versions = buildIds.map((id) => `'${deploymentName}:${id}'`).join(", ");
    return `TemporalWorkerDeploymentVersion in (${versions}) and TemporalWorkflowVersioningBehavior = 'Pinned' and ExecutionStatus = 'Running'`;
  };

  async function describe() {
    try {
      return (await service.describeWorkerDeployment({ namespace, deploymentName })).workerDeploymentInfo;
    } catch (error) {
      if ((error as { code?: unknown }).code === NOT_FOUND) return undefined;
      throw error;
    }
  }
  type Described = NonNullable<Awaited<ReturnType<typeof describe>>>;
  const routingOf = ({ routingConfig }: Described) => {
    const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = routingConfig ?? {};
    return {
      current: current?.buildId ?? null,
      ramping: ramping?.buildId
        ? { build_id: ramping.buildId, percentage: routingConfig?.rampingVersionPercentage ?? 0 }
        : null,
    };
  };

  /** What each build takes on. Undefined where there is no such deployment. */
  async function look(described: readonly QueueStats[]) {
    const info = await describe();
    if (!info) return undefined;
    const queues = described.map(({ queue, type, versions }) => ({
      work: `${type} tasks of ${queue}`,
      polling: versions.filter(({ deployment }) => deployment === deploymentName),
    }));
    const ids = (info.versionSummaries ?? []).flatMap(({ deploymentVersion }) => deploymentVersion?.buildId ?? []);
    const builds = ids.map((build_id) => {
      const polls = queues.map(({ work, polling }) => ({
        work,
        processes: polling.filter((each) => each.build_id === build_id).map(({ process }) => process),
      }));
      return {
        build_id,
        pollers: new Set(polls.flatMap(({ processes }) => processes)).size,
        unpolled: polls.flatMap(({ work, processes }) => (processes.length === 0 ? [work] : [])),
      };
    });
    return { routing: routingOf(info), builds };
  }
  async function countPinned(buildIds: readonly string[]): Promise<number> {
    return Number((await service.countWorkflowExecutions({ namespace, query: onBuilds(buildIds) })).count);
  }

  return {
    async status() {
      const seen = await look(await describeQueues(client, namespace, taskQueuePrefix));
      if (!seen) return undefined;
      const { routing, builds } = seen;
      const stateOf = (buildId: string, pinned: number): BuildStatus["state"] => {
        if (routing.current === buildId) return "current";
        if (routing.ramping?.build_id === buildId) return "ramping";
        return pinned > 0 ? "draining" : "idle";
      };
      const described = builds.map(async (build): Promise<BuildStatus> => {
        const pinned = await countPinned([build.build_id]);
        return { ...build, pinned, state: stateOf(build.build_id, pinned) };
      });
      return { deployment: deploymentName, ...routing, builds: await Promise.all(described) };
    },
    async countStranded(queues) {
      const gone = (await look(queues))?.builds.filter(({ unpolled }) => unpolled.length > 0) ?? [];
      return gone.length === 0 ? 0 : countPinned(gone.map(({ build_id }) => build_id));
    },
    async routing() {
      const info = await describe();
      return info ? routingOf(info) : undefined;
    },
    async setCurrent(buildId) {
      await service.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId: buildId ?? "", identity });
    },
    async ramp(buildId, percentage) {
      await service.setWorkerDeploymentRampingVersion({
        namespace,
        deploymentName,
        buildId: buildId ?? "",
        percentage,
        identity,
      });
    },
    async move(from, to) {
      let moved = 0;
      for await (const { workflowId, runId } of client.workflow.list({ query: onBuilds([from]) })) {
        await service
          .updateWorkflowExecutionOptions({
            namespace,
            workflowExecution: { workflowId, runId },
            workflowExecutionOptions: {
              versioningOverride: { pinned: { behavior: PINNED, version: { deploymentName, buildId: to } } },
            },
            updateMask: { paths: ["versioning_override"] },
          })
          .catch((error: unknown) => {
            // It has ended meanwhile.
            if ((error as { code?: unknown }).code !== NOT_FOUND) throw error;
            moved -= 1;
          });
        moved += 1;
      }
      return moved;
    },
  };
}
