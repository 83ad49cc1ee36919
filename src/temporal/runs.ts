import type { Client } from "@temporalio/client";
import { createPlaces } from "../domain/places.ts";
import type { PauseResolution, RunInput, RunOutcome } from "../domain/runs/run.ts";
import type { IngestInput } from "../domain/documents/document.ts";
import type { runFlow } from "../../workflows/index.ts";
import { ignoreMissing, inTime, startUnlessRunning } from "./calls.ts";
import { ingestWorkflowId, runWorkflowId, taskQueues } from "./ids.ts";
import { priorityOf } from "./priority.ts";
import { PRIORITY_KEYS, type Urgency } from "../domain/urgency.ts";
import { lookAtRun, terminateRun, type RunView } from "./trouble.ts";

/** Millrace's own view of Temporal: start, signal, look. Every call is idempotent, and responds or times out within seconds. */
export interface RunStarter {
  /** Starts the run's workflow unless it exists. */
  start(input: RunInput, when: StartOfRun): Promise<void>;
  /** False if no such workflow is open. */
  signalCancel(runId: string, reason: string | null): Promise<boolean>;
  signalResume(workflowId: string, pauseId: string, resolution: PauseResolution): Promise<boolean>;
  /**
   * Kills the workflow and its slices without letting them clean up. `reason` is stored in clear text, so it must be our own text, not a
   * caller's.
   */
  terminate(runId: string, reason: string): Promise<void>;
  look(runId: string): Promise<RunView>;
  /** The result of a completed workflow. */
  outcome(runId: string): Promise<CompletedWorkflow>;
  startIngest(input: IngestInput): Promise<void>;
}

export interface StartOfRun {
  readonly urgency: Urgency;
  /** Delays the first step (ms). */
  readonly delayMs?: number | undefined;
}

/** The result of a run's workflow, and the execution that returned it. */
export interface CompletedWorkflow {
  readonly outcome: RunOutcome;
  readonly temporal_run_id: string;
  /** RFC 3339. */
  readonly started_at: string;
}

/** Longest time that a healthy Temporal takes to start a workflow (ms). */
const START_WITHIN_MS = 500;
/**
 * Runs that a process starts at the same time; one organisation may start half of them. More would only wait in Temporal, which serves them
 * in the order of arrival.
 */
const STARTS = 12;
/** How long a start waits for its turn (ms). */
const START_PATIENCE_MS = 5000;

export interface RunStarterOptions {
  readonly client: Client;
  readonly taskQueuePrefix: string;
  /** Whether to request the first workflow task in the response to the start. It needs a worker of the run queue in this process. */
  readonly eager: () => boolean;
}

export function createRunStarter({ client, taskQueuePrefix, eager }: RunStarterOptions): RunStarter {
  const queues = taskQueues(taskQueuePrefix);
  const starts = createPlaces(STARTS);

  const inTurn = (orgId: string, urgency: Urgency, start: () => Promise<void>): Promise<void> =>
    starts.hold(orgId, { rank: PRIORITY_KEYS[urgency], patienceMs: START_PATIENCE_MS }, start);

  async function signal(workflowId: string, name: string, argument: unknown): Promise<boolean> {
    const sent = client.workflow.getHandle(workflowId).signal(name, argument);
    return (await inTime(sent.then(() => true)).catch(ignoreMissing)) ?? false;
  }

  return {
    start: (input, { urgency, delayMs }) =>
      inTurn(input.org_id, urgency, () =>
        startUnlessRunning(client, "runFlow", {
          args: [
            { ...input, node_queue: queues.nodes, start_by: new Date(Date.now() + START_WITHIN_MS).toISOString() },
          ],
          taskQueue: queues.runs,
          workflowId: runWorkflowId(input.run_id),
          workflowIdReusePolicy: "REJECT_DUPLICATE",
          // The workflow enforces the run's timeout and records it; this limit only ends a workflow that does not.
          workflowExecutionTimeout: (input.timeout_seconds + 600) * 1000 + (delayMs ?? 0),
          priority: priorityOf(input.org_id, urgency),
          ...(delayMs === undefined ? { requestEagerStart: eager() } : { startDelay: delayMs }),
        }),
      ),
    signalCancel: (runId, reason) => signal(runWorkflowId(runId), "cancel", { reason }),
    signalResume: (workflowId, pause_id, resolution) => signal(workflowId, "resume", { pause_id, resolution }),
    terminate: (runId, reason) => terminateRun(client, runId, reason),
    look: (runId) => lookAtRun(client, runId),
    async outcome(runId) {
      const handle = client.workflow.getHandle<typeof runFlow>(runWorkflowId(runId));
      const [{ runId: temporal_run_id, startTime }, outcome] = await inTime(
        Promise.all([handle.describe(), handle.result()]),
      );
      return { outcome, temporal_run_id, started_at: startTime.toISOString() };
    },
    startIngest: (input) =>
      startUnlessRunning(client, "ingestDocument", {
        args: [input],
        taskQueue: queues.ingest,
        workflowId: ingestWorkflowId(input.file_id),
        // A run may wait for the document, and a person for the run, so it is urgent.
        priority: priorityOf(input.org_id, "awaited"),
      }),
  };
}
