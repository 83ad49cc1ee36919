import { WorkflowNotFoundError } from "@temporalio/client";
import type { Client } from "@temporalio/client";
import type { Payload } from "@temporalio/common";
import { inTime } from "./calls.ts";
import { experimentJobWorkflowId, ingestWorkflowId, runWorkflowId } from "./ids.ts";

/** What workflows are of whose histories can be removed. */
export type HistoryOf = "run" | "document" | "experiment_job";

/** How the histories of something stand, and what its payloads have that was looked for. */
export interface ErasedHistory {
  /** False: there was something. It is removed in the background, so it is to be asked again. */
  readonly gone: boolean;
  /** How many executions were removed with this call. */
  readonly removed: number;
  readonly matches: readonly string[];
}

export interface HistoryEraser {
  /** Removes the histories of a workflow, of its earlier executions and of what it has started beside runs. */
  erase(what: HistoryOf, id: string): Promise<ErasedHistory>;
}

const WORKFLOW_ID: Readonly<Record<HistoryOf, (id: string) => string>> = {
  run: runWorkflowId,
  document: ingestWorkflowId,
  experiment_job: experimentJobWorkflowId,
};

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

/** A removal that Temporal has not carried out by then is asked for again (ms). It takes half a minute. */
const AGAIN_MS = 120_000;

/** `pattern`: of texts in payloads that the caller has to know before they are gone; global. */
export function createHistoryEraser(client: Client, pattern: RegExp): HistoryEraser {
  const codecs = client.options.loadedDataConverter.payloadCodecs;
  const { namespace } = client.options;
  /** When the removal of a workflow was asked for, until it is gone. */
  const asked = new Map<string, number>();

  /**
   * Has an execution removed and what is below it. That comes first: as long as there is a history it leads there, whatever happens
   * in between.
   */
  async function eraseTree(execution: Execution, into: Set<string>): Promise<number> {
    const { workflowId, runId } = execution;
    const handle = client.workflow.getHandle(workflowId, runId);
    const history = await handle.fetchHistory().catch(ignoreMissing);
    if (history === undefined) return 0;
    await collect(history, into);
    const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
    const below: Execution[] = [];
    if (started?.continuedExecutionRunId) below.push({ workflowId, runId: started.continuedExecutionRunId });
    for (const { childWorkflowExecutionStartedEventAttributes: child } of history.events ?? []) {
      const { workflowId: id, runId: childRun } = child?.workflowExecution ?? {};
      // Runs that a workflow has started are removed as runs.
      if (id?.startsWith(`${rootOf(workflowId)}/`))
        below.push(await latestOf({ workflowId: id, runId: childRun ?? "" }));
    }
    let removed = 1;
    for (const each of below) removed += await eraseTree(each, into);
    await inTime(client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: execution })).catch(
      ignoreMissing,
    );
    return removed;
  }

  /** The last one of the executions that a child has gone on as; from it the earlier ones are found. */
  async function latestOf({ workflowId, runId }: Execution): Promise<Execution> {
    const found = await inTime(client.workflow.getHandle(workflowId).describe()).catch(ignoreMissing);
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
    async erase(what, id) {
      const workflowId = WORKFLOW_ID[what](id);
      const found = await inTime(client.workflow.getHandle(workflowId).describe()).catch(ignoreMissing);
      if (found === undefined) {
        asked.delete(workflowId);
        return { gone: true, removed: 0, matches: [] };
      }
      if (Date.now() - (asked.get(workflowId) ?? 0) < AGAIN_MS) return { gone: false, removed: 0, matches: [] };
      const matches = new Set<string>();
      const removed = await eraseTree({ workflowId, runId: found.runId }, matches);
      asked.set(workflowId, Date.now());
      return { gone: false, removed, matches: [...matches] };
    },
  };
}

/** The workflow that a slice or a lane is a part of. */
function rootOf(workflowId: string): string {
  return workflowId.split("/")[0] ?? workflowId;
}

/** gRPC's NOT_FOUND, which the client does not translate everywhere. */
const NOT_FOUND = 5;

function ignoreMissing(error: unknown): undefined {
  if (error instanceof WorkflowNotFoundError || (error as { readonly code?: unknown }).code === NOT_FOUND) return;
  throw error;
}
