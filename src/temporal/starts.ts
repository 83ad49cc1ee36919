import type { Client } from "@temporalio/client";
import { START_URGENCY, type StartKind, type WorkflowStarts } from "../domain/starts.ts";
import { ignoreMissing, inTime, lookAt, startUnlessRunning, type WorkflowView } from "./calls.ts";
import {
  erasureWorkflowId,
  experimentJobWorkflowId,
  importWorkflowId,
  resourceWorkflowId,
  runJobWorkflowId,
  syncWorkflowId,
  taskQueues,
} from "./ids.ts";
import { priorityOf } from "./priority.ts";
import { createProviderJobs } from "./providers.ts";

/** Starts the workflows of background work, and looks at the workflow of a sync. */
export interface Starts extends WorkflowStarts {
  lookAtSync(syncId: string): Promise<WorkflowView>;
}

export function createStarts(client: Client, taskQueuePrefix: string): Starts {
  const { background, house, ingest, runs, nodes } = taskQueues(taskQueuePrefix);
  const onBackground = (kind: StartKind, orgId: string, workflowId: string) => ({
    taskQueue: background,
    workflowId,
    // The runs of an experiment's rows inherit the priority.
    priority: priorityOf(orgId, START_URGENCY[kind]),
  });
  return {
    resource: (input) =>
      startUnlessRunning(client, "ingestResource", {
        args: [input],
        ...onBackground("resource", input.org_id, resourceWorkflowId(input.resource_id, input.revision)),
        taskQueue: ingest,
      }),
    sync: (input) =>
      startUnlessRunning(client, "syncKnowledgeBase", {
        args: [input],
        ...onBackground("sync", input.org_id, syncWorkflowId(input.sync_id)),
      }),
    import: (input) =>
      startUnlessRunning(client, "importDataset", {
        args: [input],
        ...onBackground("import", input.org_id, importWorkflowId(input.import_id)),
      }),
    async experiment_job({ cancel, ...job }) {
      const workflowId = experimentJobWorkflowId(job.job_id);
      await startUnlessRunning(client, "runExperiment", {
        args: [{ ...job, run_queue: runs, node_queue: nodes }],
        ...onBackground("experiment_job", job.org_id, workflowId),
      });
      if (cancel) await inTime(client.workflow.getHandle(workflowId).cancel()).catch(ignoreMissing);
    },
    run_job: (input) =>
      startUnlessRunning(client, "runJob", {
        args: [input],
        ...onBackground("run_job", input.org_id, runJobWorkflowId(input.job_id)),
      }),
    erasure: ({ org_id, erasure_id }) =>
      startUnlessRunning(client, "eraseUser", {
        args: [{ erasure_id, activity_queue: house }],
        ...onBackground("erasure", org_id, erasureWorkflowId(erasure_id)),
      }),
    // Not eager, because the process need not have a worker of the run queue.
    action_run: createProviderJobs(client, taskQueuePrefix, () => false).startAction,
    lookAtSync: (syncId) => lookAt(client, syncWorkflowId(syncId)),
  };
}
