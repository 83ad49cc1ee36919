import type { Client } from "@temporalio/client";
import type { WorkerDeploymentVersion } from "@temporalio/common";
import type { Config } from "../config.ts";
import { taskQueues } from "./ids.ts";

/** How one build of a deployment stands. */
export interface BuildStatus {
  readonly build_id: string;
  readonly state: "current" | "ramping" | "draining" | "idle";
  /** Processes that have polled for steps of runs within the last minutes. */
  readonly pollers: number;
  /** Workflows under way that stay on it. */
  readonly pinned: number;
}

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
/** TASK_QUEUE_TYPE_WORKFLOW and PINNED_OVERRIDE_BEHAVIOR_PINNED of Temporal's API. */
const WORKFLOW_TASKS = 1;
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
  const onBuild = (buildId: string) =>
    `TemporalWorkerDeploymentVersion = '${deploymentName}:${buildId}' and TemporalWorkflowVersioningBehavior = 'Pinned' and ExecutionStatus = 'Running'`;

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

  return {
    async status() {
      const info = await describe();
      if (!info) return undefined;
      const routing = routingOf(info);
      const { pollers } = await service.describeTaskQueue({
        namespace,
        taskQueue: { name: taskQueues(taskQueuePrefix).runs },
        taskQueueType: WORKFLOW_TASKS,
      });
      const ids = (info.versionSummaries ?? []).flatMap(({ deploymentVersion }) => deploymentVersion?.buildId ?? []);
      const builds = ids.map(async (build_id): Promise<BuildStatus> => {
        const { count } = await service.countWorkflowExecutions({ namespace, query: onBuild(build_id) });
        const pinned = Number(count);
        const own = pollers.filter(
          ({ deploymentOptions: of }) => of?.deploymentName === deploymentName && of.buildId === build_id,
        );
        const state =
          routing.current === build_id
            ? "current"
            : routing.ramping?.build_id === build_id
              ? "ramping"
              : pinned > 0
                ? "draining"
                : "idle";
        return { build_id, state, pinned, pollers: new Set(own.map((each) => each.identity)).size };
      });
      return { deployment: deploymentName, ...routing, builds: await Promise.all(builds) };
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
      for await (const { workflowId, runId } of client.workflow.list({ query: onBuild(from) })) {
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
