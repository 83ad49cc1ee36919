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
 * Ends a run and its children without asking their workflows: it terminates them, and the records say CANCELLED. A
 * node's work outside may still finish. Runs that have ended meanwhile stay as they are.
 */
export async function forceCancel(deps: ForceCancelDeps, orgId: string, runId: string, reason: string): Promise<void> {
  // Parents first, so that none of them starts another child after its children were listed.
  const waiting = [runId];
  const seen = new Set<string>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    await deps.starter.terminate(id, "cancelled");
    await settleRun(deps, orgId, id, () => cancelledEnd(reason));
    waiting.push(...(await deps.db.org(orgId, (client) => liveChildren(client, id))));
  }
}
