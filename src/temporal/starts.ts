import type { Client } from "@temporalio/client";
import { START_URGENCY } from "../domain/starts.ts";
import type { WorkflowStarts } from "../domain/starts.ts";
import { ignoreMissing, inTime, lookAt, startUnlessRunning } from "./calls.ts";
import type { WorkflowView } from "./calls.ts";
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
  return {
    resource: (input) =>
      startUnlessRunning(client, "ingestResource", {
        args: [input],
        taskQueue: ingest,
        workflowId: resourceWorkflowId(input.resource_id, input.revision),
        priority: priorityOf(input.org_id, START_URGENCY.resource),
      }),
    sync: (input) =>
      startUnlessRunning(client, "syncKnowledgeBase", {
        args: [input],
        taskQueue: background,
        workflowId: syncWorkflowId(input.sync_id),
        priority: priorityOf(input.org_id, START_URGENCY.sync),
      }),
    import: (input) =>
      startUnlessRunning(client, "importDataset", {
        args: [input],
        taskQueue: background,
        workflowId: importWorkflowId(input.import_id),
        priority: priorityOf(input.org_id, START_URGENCY.import),
      }),
    async experiment_job({ cancel, ...job }) {
      const workflowId = experimentJobWorkflowId(job.job_id);
      await startUnlessRunning(client, "runExperiment", {
        args: [{ ...job, run_queue: runs, node_queue: nodes }],
        taskQueue: background,
        workflowId,
        // The runs of its rows inherit the priority.
        priority: priorityOf(job.org_id, START_URGENCY.experiment_job),
      });
      if (cancel) await inTime(client.workflow.getHandle(workflowId).cancel()).catch(ignoreMissing);
    },
    run_job: (input) =>
      startUnlessRunning(client, "runJob", {
        args: [input],
        taskQueue: background,
        workflowId: runJobWorkflowId(input.job_id),
        priority: priorityOf(input.org_id, START_URGENCY.run_job),
      }),
    erasure: ({ org_id, erasure_id }) =>
      startUnlessRunning(client, "eraseUser", {
        args: [{ erasure_id, activity_queue: house }],
        taskQueue: background,
        workflowId: erasureWorkflowId(erasure_id),
        priority: priorityOf(org_id, START_URGENCY.erasure),
      }),
    // Not eager, because the process need not have a worker of the run queue.
    action_run: createProviderJobs(client, taskQueuePrefix, () => false).startAction,
    lookAtSync: (syncId) => lookAt(client, syncWorkflowId(syncId)),
  };
}
