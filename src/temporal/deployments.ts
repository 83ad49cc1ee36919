import type { Client } from "@temporalio/client";
import type { WorkerDeploymentVersion } from "@temporalio/common";
import type { Config } from "../config.ts";
import { ignoreMissing } from "./calls.ts";
import { describeQueues, type QueueStats } from "./queues.ts";

/** The state of one build of a deployment. */
export interface BuildStatus {
  readonly build_id: string;
  readonly state: "current" | "ramping" | "draining" | "idle";
  /** Number of its processes that have polled within the last minutes. */
  readonly pollers: number;
  /** Types of work that none of its processes polls for, such as "workflow tasks of runs". */
  readonly unpolled: readonly string[];
  /** Number of open workflows that stay on it. */
  readonly pinned: number;
}

/** Whether a build has workflows but no process that executes them. */
export const isStranded = ({ pinned, unpolled }: BuildStatus): boolean => pinned > 0 && unpolled.length > 0;

export interface DeploymentStatus {
  readonly deployment: string;
  readonly current: string | null;
  readonly ramping: { readonly build_id: string; readonly percentage: number } | null;
  readonly builds: readonly BuildStatus[];
}

export type Deployment = ReturnType<typeof createDeployment>;

/** PINNED_OVERRIDE_BEHAVIOR_PINNED of Temporal's API. */
const PINNED = 1;

/** The version of a process with this configuration; undefined if the installation has no deployment. */
export function versionOf(config: Config): WorkerDeploymentVersion | undefined {
  const { MILLRACE_DEPLOYMENT: deploymentName, MILLRACE_BUILD_ID: buildId } = config;
  return deploymentName === undefined || buildId === undefined ? undefined : { deploymentName, buildId };
}

/** The worker deployment of an installation, in Temporal. No API request waits for these calls, so the SDK may retry them. */
export function createDeployment(client: Client, deploymentName: string, taskQueuePrefix: string) {
  const { namespace } = client.options;
  const service = client.workflowService;
  const identity = client.options.identity;
  const onBuilds = (buildIds: readonly string[]): string => {
    const versions = buildIds.map((id) => `'${deploymentName}:${id}'`).join(", ");
    return `TemporalWorkerDeploymentVersion in (${versions}) and TemporalWorkflowVersioningBehavior = 'Pinned' and ExecutionStatus = 'Running'`;
  };

  const describe = async () =>
    (await service.describeWorkerDeployment({ namespace, deploymentName }).catch(ignoreMissing))?.workerDeploymentInfo;
  type Described = NonNullable<Awaited<ReturnType<typeof describe>>>;
  const routingOf = ({ routingConfig }: Described): Pick<DeploymentStatus, "current" | "ramping"> => {
    const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = routingConfig ?? {};
    return {
      current: current?.buildId ?? null,
      ramping: ramping?.buildId
        ? { build_id: ramping.buildId, percentage: routingConfig?.rampingVersionPercentage ?? 0 }
        : null,
    };
  };

  /** The types of work that each build polls for. Undefined if the deployment does not exist. */
  async function look(described: readonly QueueStats[]) {
    const info = await describe();
    if (!info) return undefined;
    // The workflows of `house` move to new builds, so a build without that queue strands none.
    const own = described.filter(({ queue }) => queue !== "house");
    const queues = own.map(({ queue, type, versions }) => ({
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
    /** Undefined until its first worker has polled. */
    async status(): Promise<DeploymentStatus | undefined> {
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
    /** The open workflows on builds with work that no process polls for, by the given queues. */
    async countStranded(queues: readonly QueueStats[]): Promise<number> {
      const gone = (await look(queues))?.builds.filter(({ unpolled }) => unpolled.length > 0) ?? [];
      return gone.length === 0 ? 0 : countPinned(gone.map(({ build_id }) => build_id));
    },
    /** The builds on which new workflows start. */
    async routing() {
      const info = await describe();
      return info ? routingOf(info) : undefined;
    },
    /** `null` means workers without a deployment. */
    async setCurrent(buildId: string | null): Promise<void> {
      await service.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId: buildId ?? "", identity });
    },
    /** `null` ends the ramp. */
    async ramp(build: string | null, percentage: number): Promise<void> {
      const buildId = build ?? "";
      await service.setWorkerDeploymentRampingVersion({ namespace, deploymentName, buildId, percentage, identity });
    },
    /** Moves open workflows from one build to another. Returns how many. */
    async move(from: string, to: string): Promise<number> {
      let moved = 0;
      for await (const { workflowId, runId } of client.workflow.list({ query: onBuilds([from]) })) {
        const changed = await service
          .updateWorkflowExecutionOptions({
            namespace,
            workflowExecution: { workflowId, runId },
            workflowExecutionOptions: {
              versioningOverride: { pinned: { behavior: PINNED, version: { deploymentName, buildId: to } } },
            },
            updateMask: { paths: ["versioning_override"] },
          })
          .catch(ignoreMissing);
        // The workflow may have ended meanwhile.
        if (changed) moved += 1;
      }
      return moved;
    },
  };
}
