import type { Client } from "@temporalio/client";
import type { ExperimentJobInput } from "../domain/evals/experiment.ts";
import type { ImportInput } from "../domain/evals/import.ts";
import type { importDataset, runExperiment } from "../../workflows/index.ts";
import { ignoreMissing, inTime, startUnlessRunning } from "./calls.ts";
import { experimentJobWorkflowId, importWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";

/** Starts the workflows of imports and experiments. */
export interface EvalStarter {
  /** Starts an import unless it is running. */
  startImport(input: ImportInput): Promise<void>;
  /** Starts a job of an experiment unless it is running. */
  startJob(job: Omit<ExperimentJobInput, "run_queue" | "node_queue">): Promise<void>;
  /** Cancels a running job; does nothing to a finished one. */
  cancelJob(jobId: string): Promise<void>;
}

export function createEvalStarter(client: Client, taskQueuePrefix: string): EvalStarter {
  const { background, runs, nodes } = taskQueues(taskQueuePrefix);
  return {
    startImport: (input) =>
      startUnlessRunning<typeof importDataset>(client, "importDataset", {
        args: [input],
        taskQueue: background,
        workflowId: importWorkflowId(input.import_id),
        priority: priorityOf(input.org_id, "batch"),
      }),
    startJob: (job) =>
      startUnlessRunning<typeof runExperiment>(client, "runExperiment", {
        args: [{ ...job, run_queue: runs, node_queue: nodes }],
        taskQueue: background,
        workflowId: experimentJobWorkflowId(job.job_id),
        // The runs of its rows inherit the priority.
        priority: priorityOf(job.org_id, "batch"),
      }),
    async cancelJob(jobId) {
      await inTime(client.workflow.getHandle(experimentJobWorkflowId(jobId)).cancel()).catch(ignoreMissing);
    },
  };
}
