import type { Client } from "@temporalio/client";
import type { RunJobInput } from "../domain/runs/run-job.ts";
import type { runJob } from "../../workflows/index.ts";
import { startUnlessRunning } from "./calls.ts";
import { runJobWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";

/** Starts jobs on many runs. */
export interface RunJobStarter {
  /** Starts a job unless it is running. */
  start(input: RunJobInput): Promise<void>;
}

export function createRunJobStarter(client: Client, taskQueuePrefix: string): RunJobStarter {
  const { background } = taskQueues(taskQueuePrefix);
  return {
    start: (input) =>
      startUnlessRunning<typeof runJob>(client, "runJob", {
        args: [input],
        taskQueue: background,
        workflowId: runJobWorkflowId(input.job_id),
        priority: priorityOf(input.org_id, "batch"),
      }),
  };
}
