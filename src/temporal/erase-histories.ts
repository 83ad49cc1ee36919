import type { Client } from "@temporalio/client";
import type { Payload } from "@temporalio/common";
import { describe, ignoreMissing, inTime } from "./calls.ts";
import { experimentJobWorkflowId, ingestWorkflowId, runWorkflowId } from "./ids.ts";

/** Types of things whose workflow histories can be deleted. */
export type HistoryOf = "run" | "document" | "experiment_job";

/** Executions that are about to be removed, and the matches found in their payloads. */
interface FoundHistories {
  /** Temporal's IDs of the executions, so that a history found again is not counted as another one. */
  readonly executions: readonly string[];
  readonly matches: readonly string[];
}

export type HistoryEraser = ReturnType<typeof createHistoryEraser>;

const WORKFLOW_ID: Readonly<Record<HistoryOf, (id: string) => string>> = {
  run: runWorkflowId,
  document: ingestWorkflowId,
  experiment_job: experimentJobWorkflowId,
};

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

/** After this time a deletion that Temporal has not carried out is requested again (ms). A deletion takes half a minute. */
const AGAIN_MS = 120_000;

/** `pattern`, a global one, finds texts in payloads that the caller needs before the histories are deleted. */
export function createHistoryEraser(client: Client, pattern: RegExp) {
  const codecs = client.options.loadedDataConverter.payloadCodecs;
  const { namespace } = client.options;
  /** When the deletion of a workflow was requested; kept until the workflow no longer exists. */
  const asked = new Map<string, number>();

  /** The executions to delete, each after its children: as long as its history exists it leads to them, whatever happens in between. */
  async function readTree(execution: Execution, into: Set<string>): Promise<Execution[]> {
    const { workflowId, runId } = execution;
    const handle = client.workflow.getHandle(workflowId, runId);
    const history = await handle.fetchHistory().catch(ignoreMissing);
    if (history === undefined) return [];
    await collect(history, into);
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    const found: Execution[] = [];
    if (started?.continuedExecutionRunId)
      found.push(...(await readTree({ workflowId, runId: started.continuedExecutionRunId }, into)));
    for (const { childWorkflowExecutionStartedEventAttributes: child } of history.events ?? []) {
      const { workflowId: id, runId: childRun } = child?.workflowExecution ?? {};
      // Child runs are separate items, so only slices and lanes are followed.
      if (id?.startsWith(`${rootOf(workflowId)}/`))
        found.push(...(await readTree(await latestOf({ workflowId: id, runId: childRun ?? "" }), into)));
    }
    return [...found, execution];
  }

  /** The latest execution of a child, from which the earlier ones are found. */
  async function latestOf({ workflowId, runId }: Execution): Promise<Execution> {
    const found = await describe(client, workflowId);
    return { workflowId, runId: found?.runId ?? runId };
  }

  async function collect(value: unknown, into: Set<string>): Promise<void> {
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
    if ("metadata" in value && "data" in value) {
      let payloads = [value as Payload];
      for (const codec of codecs.toReversed()) payloads = await codec.decode(payloads);
      for (const { data } of payloads)
        for (const [match] of Buffer.from(data ?? [])
          .toString()
          .matchAll(pattern))
          into.add(match);
      return;
    }
    for (const each of Object.values(value)) await collect(each, into);
  }

  return {
    /**
     * Deletes the histories of a workflow, of its earlier executions and of the slices and lanes that it started. Calls `note` before
     * anything is deleted, because what `note` does not keep is lost if the process dies. Returns false if there was something to delete;
     * Temporal deletes in the background, so call it again.
     */
    async erase(what: HistoryOf, id: string, note: (found: FoundHistories) => Promise<void>): Promise<boolean> {
      const workflowId = WORKFLOW_ID[what](id);
      const found = await describe(client, workflowId);
      if (found === undefined) {
        asked.delete(workflowId);
        return true;
      }
      if (Date.now() - (asked.get(workflowId) ?? 0) < AGAIN_MS) return false;
      const matches = new Set<string>();
      const executions = await readTree({ workflowId, runId: found.runId }, matches);
      await note({ executions: executions.map(({ runId: id }) => id), matches: [...matches] });
      for (const workflowExecution of executions)
        await inTime(client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution })).catch(
          ignoreMissing,
        );
      asked.set(workflowId, Date.now());
      return false;
    },
  };
}

/** The workflow that a slice or a lane belongs to. */
function rootOf(workflowId: string): string {
  return workflowId.split("/")[0] ?? workflowId;
}
