import type { Database } from "../../stores/db.ts";
import type { RunFeed } from "../../stores/runs/run-feed.ts";
import { liveChildren } from "../../stores/runs/runs.ts";
import type { RunStarter } from "../../temporal/runs.ts";
import type { RunObserver } from "./run-observer.ts";
import { cancelledEnd, settleRun } from "./settle-run.ts";

export interface ForceCancelDeps {
  readonly db: Database;
  readonly starter: RunStarter;
  readonly feed: RunFeed;
  readonly observer: RunObserver;
}

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
