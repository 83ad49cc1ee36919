import { setWorkflowOptions, workflowInfo, type Workflow } from "@temporalio/workflow";

/**
 * For a workflow that may last longer than a release: it moves to new builds; otherwise it would keep the workers of
 * its first build. The option is set only in a deployment, because Temporal rejects it from a worker without one.
 */
export function movesToNewBuilds(workflow: Workflow): void {
  setWorkflowOptions(
    () => (workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: "AUTO_UPGRADE" } : {}),
    workflow,
  );
}
