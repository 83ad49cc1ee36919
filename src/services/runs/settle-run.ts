import { isTerminal, type RunError, type RunUpdate, type TerminalState } from "../../domain/runs/run.ts";
import type { Db } from "../../stores/db.ts";
import { lockRun, recordRun } from "../../stores/runs/run-record.ts";
import { getRun, liveChildren, type RunRow } from "../../stores/runs/runs.ts";
import { nodeEvents } from "./node-events.ts";
import type { NodeReport } from "../../domain/runs/run-report.ts";
import { unfinishedNodes } from "../../stores/runs/node-runs.ts";
import type { Parts } from "../parts.ts";

/** The end of a run whose workflow cannot report it. */
interface RunEnd {
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
  { db, feed, observer }: Omit<ForceCancelDeps, "starter">,
  orgId: string,
  runId: string,
  end: (run: RunRow) => RunEnd,
): Promise<boolean> {
  const settled = await db.orgTransaction(orgId, async (connection) => {
    await lockRun(connection, runId);
    const run = await getRun(connection, runId);
    if (!run || isTerminal(run.state)) return null;
    const nodes = await endOpenNodes(connection, runId);
    const { state, reason: state_reason, error } = end(run);
    const ended = nodes.map(({ announced: _announced, ...node }) => node);
    const update: RunUpdate = { ...unchanged(run), state, state_reason, error, nodes: ended };
    const result = await recordRun(connection, update, nodes.flatMap(nodeEvents));
    return result && { update, result };
  });
  if (!settled) return false;
  feed.changed(runId, "settled");
  observer.recorded(settled.update, settled.result);
  return true;
}

/** A write of a run's record that does not come from its workflow, and changes nothing yet. */
export function unchanged({ org_id, run_id, started_at, ...run }: RunRow) {
  const { total_nodes, started_nodes, completed_nodes, skipped_nodes, current_node } = run;
  const progress = { total_nodes, started_nodes, completed_nodes, skipped_nodes, current_node };
  return { org_id, run_id, temporal_run_id: "", started_at, progress, nodes: [] };
}

/** Reports that end a run's open nodes together with the run, because no activity will report their end. */
export async function endOpenNodes(
  db: Db,
  runId: string,
  state: "COMPLETED" | "CANCELLED" = "CANCELLED",
): Promise<NodeReport[]> {
  const finished_at = new Date().toISOString();
  const open = await unfinishedNodes(db, runId);
  return open.map(({ node_id, type, path, attempts, started_at }) => ({
    node_id,
    type,
    path,
    attempts,
    state,
    started_at,
    finished_at,
    announced: true,
  }));
}

export type ForceCancelDeps = Parts<"db" | "starter" | "feed" | "observer">;

/**
 * Ends a run and its child runs without asking their workflows: terminates these and records CANCELLED. Requests that
 * nodes have already sent may still take effect. Runs that have finished meanwhile are unchanged.
 */
export async function forceCancel(deps: ForceCancelDeps, orgId: string, runId: string, reason: string): Promise<void> {
  // Parents are ended first, so that none starts another child run after its child runs were listed.
  const waiting = [runId];
  const seen = new Set<string>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    await deps.starter.terminate(id, "cancelled");
    await settleRun(deps, orgId, id, () => cancelledEnd(reason));
    waiting.push(...(await deps.db.org(orgId, (connection) => liveChildren(connection, id))));
  }
}
