import type { Client } from "@temporalio/client";
import type { eraseUser } from "../../workflows/index.ts";
import { startUnlessRunning } from "./calls.ts";
import { erasureWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";

/** Starts the workflow of an erasure unless it is running. */
export type StartErasure = (erasure: { readonly org_id: string; readonly erasure_id: string }) => Promise<void>;

export function createErasureStarter(client: Client, taskQueuePrefix: string): StartErasure {
  const { background, house } = taskQueues(taskQueuePrefix);
  return ({ org_id, erasure_id }) =>
    startUnlessRunning<typeof eraseUser>(client, "eraseUser", {
      args: [{ erasure_id, activity_queue: house }],
      taskQueue: background,
      workflowId: erasureWorkflowId(erasure_id),
      priority: priorityOf(org_id, "later"),
    });
}
