import type { Client } from "@temporalio/client";
import type { ImportInput } from "../domain/evals/import.ts";
import type { importDataset } from "../../workflows/index.ts";
import { ignoringStarted } from "./calls.ts";
import { importWorkflowId, taskQueues } from "./ids.ts";

/** Starts the workflows of evals. */
export interface EvalStarter {
  /** Starts an import unless it is under way. */
  startImport(input: ImportInput): Promise<void>;
}

export function createEvalStarter(client: Client, taskQueuePrefix: string): EvalStarter {
  const { background } = taskQueues(taskQueuePrefix);
  return {
    startImport: (input) =>
      ignoringStarted(
        client.workflow.start<typeof importDataset>("importDataset", {
          args: [input],
          taskQueue: background,
          workflowId: importWorkflowId(input.import_id),
          // One that was ended from outside is followed by another.
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "FAIL",
        }),
      ),
  };
}
