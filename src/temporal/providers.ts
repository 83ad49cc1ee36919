import type { Client } from "@temporalio/client";
import type { checkConnection } from "../../workflows/index.ts";
import { inTime } from "./calls.ts";
import { checkWorkflowId, taskQueues } from "./ids.ts";

/** Starts the workflows of connections, and waits for them. */
export interface ProviderJobs {
  /** Checks a connection's credential; one check at a time. Resolves when it is done, or after `waitMs`. Rejects where it cannot be started. */
  check(connection: ConnectionToCheck, waitMs: number): Promise<void>;
}

interface ConnectionToCheck {
  readonly org_id: string;
  readonly connection_id: string;
  readonly credential_revision: number;
}

export function createProviderJobs(client: Client, taskQueuePrefix: string): ProviderJobs {
  const queues = taskQueues(taskQueuePrefix);
  return {
    async check({ org_id, connection_id, credential_revision }, waitMs) {
      const handle = await inTime(
        client.workflow.start<typeof checkConnection>("checkConnection", {
          args: [{ org_id, connection_id, queue: queues.nodes }],
          taskQueue: queues.runs,
          workflowId: checkWorkflowId(connection_id, credential_revision),
          workflowIdReusePolicy: "ALLOW_DUPLICATE",
          workflowIdConflictPolicy: "USE_EXISTING",
          workflowExecutionTimeout: "5 minutes",
        }),
      );
      await settled(handle.result(), waitMs);
    },
  };
}

/** Waits for an end, good or bad, but not longer than `waitMs`. */
async function settled(end: Promise<unknown>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([
    end.then(
      () => undefined,
      () => undefined,
    ),
    late,
  ]);
  clearTimeout(timer);
}
