import type { Client } from "@temporalio/client";
import type { ResourceInput } from "../domain/knowledge/ingest.ts";
import type { ingestResource } from "../../workflows/index.ts";
import { startUnlessRunning } from "./calls.ts";
import { resourceWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";

/** Starts the workflows that index resources. */
export interface ResourceStarter {
  /** Starts the indexing of a resource's revision unless it is running. */
  startIngest(input: ResourceInput): Promise<void>;
}

export function createResourceStarter(client: Client, taskQueuePrefix: string): ResourceStarter {
  const { ingest } = taskQueues(taskQueuePrefix);
  return {
    startIngest: (input) =>
      startUnlessRunning<typeof ingestResource>(client, "ingestResource", {
        args: [input],
        taskQueue: ingest,
        workflowId: resourceWorkflowId(input.resource_id, input.revision),
        priority: priorityOf(input.org_id, "later"),
      }),
  };
}
