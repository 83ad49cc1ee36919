import { Client, Connection } from "@temporalio/client";
import type { Config } from "../config.ts";
import { temporalAddress } from "./address.ts";
import { runWorkflowId } from "./ids.ts";
import { describeQueues } from "./queues.ts";
import type { QueueStats } from "./queues.ts";
import { describe, ignoreMissing, lookAtRun } from "./trouble.ts";
import type { RunView } from "./trouble.ts";

/** How long the server may take to accept a connection (ms). */
const CONNECT_MS = 5000;
/** PENDING_ACTIVITY_STATE_SCHEDULED of Temporal's API: no worker has it. */
const SCHEDULED = 1;

/** Temporal's view of a run. */
export interface RunExamined extends RunView {
  /** Activities of its nodes that no worker has taken. */
  readonly untaken: number;
  readonly queues: readonly QueueStats[];
}

/** Looks once at the workflow of a run and its queues. Returns the reason if Temporal does not answer. */
export async function examineRun(
  config: Config,
  runId: string,
): Promise<RunExamined | { readonly unreachable: string }> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ ...temporalAddress(config), connectTimeout: CONNECT_MS });
    const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
    const run = await lookAtRun(client, runId);
    const described = await describe(client, runWorkflowId(runId)).catch(ignoreMissing);
    const activities = described?.raw.pendingActivities ?? [];
    return {
      ...run,
      untaken: activities.filter(({ state }) => Number(state) === SCHEDULED).length,
      queues: await describeQueues(client, config.TEMPORAL_NAMESPACE, config.MILLRACE_TASK_QUEUE),
    };
  } catch (error) {
    return { unreachable: error instanceof Error ? error.message : String(error) };
  } finally {
    await connection?.close();
  }
}
