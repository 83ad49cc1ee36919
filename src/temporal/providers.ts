import type { Client } from "@temporalio/client";
import type { checkConnection, importTools } from "../../workflows/index.ts";
import { START_URGENCY, type StartInputs } from "../domain/starts.ts";
import type { ToolsImportInput, ToolsImportResult } from "../domain/providers/jobs.ts";
import { inTime, startUnlessRunning } from "./calls.ts";
import { actionRunWorkflowId, checkWorkflowId, taskQueues, toolsImportWorkflowId } from "./ids.ts";
import { priorityOf } from "./priority.ts";

export type ProviderJobs = ReturnType<typeof createProviderJobs>;

interface ConnectionToCheck {
  readonly org_id: string;
  readonly connection_id: string;
  readonly credential_revision: number;
}

/**
 * Starts the workflows of connections and actions, and waits for them. `eager` says whether a worker of the run queue in this process may
 * take the first task.
 */
export function createProviderJobs(client: Client, taskQueuePrefix: string, eager: () => boolean) {
  const queues = taskQueues(taskQueuePrefix);
  /** Workflows that a caller waits for; a second request waits for the workflow of the first. */
  const awaited = (orgId: string) =>
    ({
      taskQueue: queues.runs,
      priority: priorityOf(orgId, "awaited"),
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      workflowIdConflictPolicy: "USE_EXISTING",
    }) as const;
  return {
    /**
     * Checks a connection's credential, one check at a time. Resolves when it is done, or after `waitMs`. Rejects if the check cannot be
     * started.
     */
    async check({ org_id, connection_id, credential_revision }: ConnectionToCheck, waitMs: number): Promise<void> {
      const handle = await inTime(
        client.workflow.start<typeof checkConnection>("checkConnection", {
          ...awaited(org_id),
          args: [{ org_id, connection_id, queue: queues.nodes }],
          workflowId: checkWorkflowId(connection_id, credential_revision),
          workflowExecutionTimeout: "5 minutes",
        }),
      );
      await settled(handle.result(), waitMs);
    },
    /**
     * Makes a provider from the tools of an MCP server; null if that takes longer than `waitMs`, and then it is cancelled. Rejects if it
     * cannot be started.
     */
    async importTools(
      importId: string,
      input: Omit<ToolsImportInput, "queue">,
      waitMs: number,
    ): Promise<ToolsImportResult | null> {
      const handle = await inTime(
        client.workflow.start<typeof importTools>("importTools", {
          ...awaited(input.org_id),
          args: [{ ...input, queue: queues.nodes }],
          workflowId: toolsImportWorkflowId(importId),
          workflowExecutionTimeout: waitMs,
          requestEagerStart: eager(),
        }),
      );
      let result: ToolsImportResult | null = null;
      const ended = handle.result().then((value) => (result = value));
      await settled(ended, waitMs);
      return result;
    },
    /** Starts a run of an action unless it is running. */
    startAction: ({ org_id, action_run_id, timeout_seconds }: StartInputs["action_run"]): Promise<void> =>
      startUnlessRunning(client, "runAction", {
        args: [{ org_id, action_run_id, timeout_seconds, queue: queues.nodes }],
        taskQueue: queues.runs,
        workflowId: actionRunWorkflowId(action_run_id),
        priority: priorityOf(org_id, START_URGENCY.action_run),
        requestEagerStart: eager(),
      }),
    /** Waits for the end of a run of an action, or `waitMs`, or until the signal says that no one is waiting any more. */
    actionEnded: (actionRunId: string, waitMs: number, signal: AbortSignal): Promise<void> =>
      settled(client.workflow.getHandle(actionRunWorkflowId(actionRunId)).result(), waitMs, signal),
  };
}

/** Waits until a workflow finishes, with or without an error, but at most `waitMs`, and only until the signal fires. */
async function settled(end: Promise<unknown>, waitMs: number, signal?: AbortSignal): Promise<void> {
  let stop = (): void => undefined;
  const late = new Promise<void>((resolve) => (stop = resolve));
  const timer = setTimeout(stop, waitMs);
  signal?.addEventListener("abort", stop, { once: true });
  await Promise.race([end.catch(() => undefined), late]);
  clearTimeout(timer);
  signal?.removeEventListener("abort", stop);
}
