import type { Config } from "../config.ts";
import { describe } from "./calls.ts";
import { withClient } from "./examine.ts";
import { runWorkflowId } from "./ids.ts";
import { describeQueues, type QueueStats } from "./queues.ts";
import { lookAtRun, type RunView } from "./trouble.ts";

/** PENDING_ACTIVITY_STATE_SCHEDULED of Temporal's API: no worker has it. */
const SCHEDULED = 1;

/** Temporal's view of a run. */
export interface RunExamined extends RunView {
  /** Number of activities of its nodes that no worker has taken. */
  readonly untaken: number;
  readonly queues: readonly QueueStats[];
}

/** Examines the workflow of a run and its queues once. Returns the reason if Temporal does not respond. */
export async function examineRun(
  config: Config,
  runId: string,
): Promise<RunExamined | { readonly unreachable: string }> {
  try {
    return await withClient(config, {}, async (client) => {
      const run = await lookAtRun(client, runId);
      const described = await describe(client, runWorkflowId(runId));
      const activities = described?.raw.pendingActivities ?? [];
      return {
        ...run,
        untaken: activities.filter(({ state }) => Number(state) === SCHEDULED).length,
        queues: await describeQueues(client, config.TEMPORAL_NAMESPACE, config.MILLRACE_TASK_QUEUE),
      };
    });
  } catch (error) {
    return { unreachable: error instanceof Error ? error.message : String(error) };
  }
}
