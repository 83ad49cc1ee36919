import { isTerminal } from "../../domain/runs/run.ts";
import type { RunError, RunUpdate, TerminalState } from "../../domain/runs/run.ts";
import type { Database } from "../../stores/db.ts";
import { lockRun, recordRun } from "../../stores/runs/run-record.ts";
import type { RunFeed } from "../../stores/runs/run-feed.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { endOpenNodes } from "./end-open-nodes.ts";
import { nodeEvents } from "./node-events.ts";
import type { RunObserver } from "./run-observer.ts";

/** The end of a run whose workflow cannot report it. */
export interface RunEnd {
  readonly state: Exclude<TerminalState, "COMPLETED">;
  readonly reason: string;
  readonly error: RunError | null;
}

/** The end of a run whose cancellation was requested, with the reason if any. */
export const cancelledEnd = (reason: string | null): RunEnd => ({
  state: "CANCELLED",
  reason: reason ?? "cancelled",
  error: null,
});

/**
 * Finalises a run whose workflow will not report an end; its open nodes become CANCELLED. Calls `end` once the row is
 * locked. False if the run has finished meanwhile; it is then unchanged.
 */
export async function settleRun(
  { db, feed, observer }: { readonly db: Database; readonly feed: RunFeed; readonly observer: RunObserver },
  orgId: string,
  runId: string,
  end: (run: RunRow) => RunEnd,
): Promise<boolean> {
  const settled = await db.orgTransaction(orgId, async (connection) => {
    await lockRun(connection, runId);
    const run = await getRun(connection, runId);
    if (!run || isTerminal(run.state)) return null;
    const nodes = await endOpenNodes(connection, runId);
    const { total_nodes, started_nodes, completed_nodes, skipped_nodes, current_node } = run;
    const { state, reason, error } = end(run);
    const update: RunUpdate = {
      org_id: orgId,
      run_id: runId,
      temporal_run_id: "",
      started_at: run.started_at,
      state,
      state_reason: reason,
      error,
      progress: { total_nodes, started_nodes, completed_nodes, skipped_nodes, current_node },
      nodes: nodes.map(({ announced: _announced, ...node }) => node),
    };
    const result = await recordRun(connection, update, nodes.flatMap(nodeEvents));
    return result && { update, result };
  });
  if (!settled) return false;
  feed.changed(runId, "settled");
  observer.recorded(settled.update, settled.result);
  return true;
}
