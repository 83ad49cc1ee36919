import { isNodeEnd, isTerminal, type NodeRecord, type RunUpdate } from "../../domain/runs/run.ts";
import type { Logger } from "../../platform/logging/logger.ts";
import type { Metrics } from "../../platform/metrics.ts";
import type { RunWriteResult } from "../../stores/runs/run-record.ts";
import { NO_TRACES, type RunTraces } from "./run-traces.ts";

export type RunObserver = ReturnType<typeof createRunObserver>;

/**
 * Counts and logs the transitions of runs and nodes as they are recorded. Each process counts its own writes. A
 * repeated write changes nothing and reports no change, so nothing is counted twice. Error messages are not logged,
 * because guards and templates quote their inputs.
 */
export function createRunObserver(metrics: Metrics, logger: Logger, traces: RunTraces = NO_TRACES) {
  return {
    /** Call it after each committed write of a run's record. Counts only the changes of that write. */
    recorded(update: RunUpdate, result: RunWriteResult): void {
      const { project_id, old_state, state, changed_nodes } = result;
      const trace_id = traces.idOf(update.run_id);
      const run = { run_id: update.run_id, org_id: update.org_id, project_id, ...(trace_id && { trace_id }) };
      traces.recorded(update, result);
      // A run that ended before its workflow started does not count as started.
      if (old_state === "PENDING" && state !== "PENDING" && update.temporal_run_id !== "") metrics.runStarted();
      if (changed_nodes.length > 0) {
        const changed = new Set(changed_nodes);
        for (const node of update.nodes) if (changed.has(node.path)) observeNode(run, node);
      }
      if (state === old_state || !isTerminal(state)) return;
      metrics.runFinished({ state, project: project_id }, result.latency_ms / 1000);
      const { error = null, state_reason = null } = update;
      logger.info(
        {
          ...run,
          state,
          // The reason of a cancellation is a user's free text, so it is not logged.
          reason: error?.code ?? (state === "CANCELLED" ? undefined : state_reason),
          ms: Math.round(result.latency_ms),
        },
        "run finished",
      );
    },
  };

  function observeNode(run: { readonly project_id: string }, node: NodeRecord): void {
    const { path, type, state, attempts, error, started_at, finished_at } = node;
    if (isNodeEnd(state) && started_at !== null && finished_at !== null) {
      metrics.nodeFinished({ kind: type, state }, (Date.parse(finished_at) - Date.parse(started_at)) / 1000);
    }
    // A node in RETRYING without an error has only started its next attempt.
    if ((state !== "FAILED" && state !== "RETRYING") || !error) return;
    metrics.nodeFailed({ kind: type, project: run.project_id });
    const line = { ...run, path, kind: type, attempt: attempts, code: error.code };
    logger.info(line, state === "FAILED" ? "node failed" : "node attempt failed, retrying");
  }
}
