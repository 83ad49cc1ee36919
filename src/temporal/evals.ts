import { WorkflowNotFoundError } from "@temporalio/client";
import type { Client } from "@temporalio/client";
import type { ExperimentJobInput } from "../domain/evals/experiment.ts";
import type { ImportInput } from "../domain/evals/import.ts";
import type { importDataset, runExperiment } from "../../workflows/index.ts";
import { ignoringStarted, inTime } from "./calls.ts";
import { experimentJobWorkflowId, importWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";

/** Starts the workflows of imports and experiments. */
export interface EvalStarter {
  /** Starts an import unless it is running. */
  startImport(input: ImportInput): Promise<void>;
  /** Starts a job of an experiment unless it is running. */
  startJob(job: Omit<ExperimentJobInput, "run_queue" | "node_queue">): Promise<void>;
  /** Cancels a running job; does nothing to another one. */
  cancelJob(jobId: string): Promise<void>;
}

export function createEvalStarter(client: Client, taskQueuePrefix: string): EvalStarter {
  const { background, runs, nodes } = taskQueues(taskQueuePrefix);
  return {
    startImport: (input) =>
      ignoringStarted(
        client.workflow.start<typeof importDataset>("importDataset", {
          args: [input],
          taskQueue: background,
          workflowId: importWorkflowId(input.import_id),
          priority: priorityOf(input.org_id, "batch"),
          // Replaces one that was ended from outside.
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "FAIL",
        }),
      ),
    startJob: (job) =>
      ignoringStarted(
        client.workflow.start<typeof runExperiment>("runExperiment", {
          args: [{ ...job, run_queue: runs, node_queue: nodes }],
          taskQueue: background,
          workflowId: experimentJobWorkflowId(job.job_id),
          // The runs of its rows inherit it.
          priority: priorityOf(job.org_id, "batch"),
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "FAIL",
        }),
      ),
    async cancelJob(jobId) {
      try {
        await inTime(client.workflow.getHandle(experimentJobWorkflowId(jobId)).cancel());
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
