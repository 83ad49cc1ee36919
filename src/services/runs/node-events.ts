import { shortMessage } from "../../domain/runs/failure.ts";
import type { NodeState, RunError } from "../../domain/runs/run.ts";
import type { NodeReport } from "../../domain/runs/run-report.ts";
import { redactSecrets } from "../../platform/logging/redaction.ts";
import type { RunEventDraft } from "../../stores/runs/run-record.ts";

/** The events that a report of a node adds to its run. */
export function nodeEvents(node: NodeReport): RunEventDraft[] {
  const { node_id, path, type, state, attempts, started_at, finished_at, announced = false } = node;
  const { next_attempt_at = null, failed_at, due_at } = node;
  const error = node.error ? readableError(node.error) : null;
  const at = finished_at ?? started_at ?? new Date().toISOString();
  const started: RunEventDraft = {
    type: "node.started",
    at: started_at ?? at,
    data: { node_id, path, type, state, ...(due_at === undefined ? {} : { due_at }) },
  };
  const missed = announced || attempts > 1 ? [] : [withState(started, "RUNNING")];
  switch (state) {
    case "RUNNING":
    case "PAUSED":
      return [started];
    case "RETRYING": {
      const data = { node_id, path, type, attempt: attempts, error, started_at, next_attempt_at };
      return [...missed, { type: "node.retrying", at: failed_at ?? at, data }];
    }
    default: {
      const data = { node_id, path, type, state, attempts, started_at, finished_at, error };
      // A node that was skipped or reused has not started in this run, so it has no start event.
      return [...(started_at === null ? [] : missed), { type: "node.finished", at, data }];
    }
  }
}

function withState({ data, ...event }: RunEventDraft, state: NodeState): RunEventDraft {
  return { ...event, data: { ...data, state } };
}

/** The form of an error in records and events. */
export function readableError(error: RunError): RunError {
  return { ...error, message: redactSecrets(shortMessage(error.message)) };
}
