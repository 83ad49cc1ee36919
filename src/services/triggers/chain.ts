import { Problem } from "../../domain/errors.ts";
import { MAX_TRIGGER_DEPTH } from "../../domain/triggers/trigger.ts";
import type { Database } from "../../stores/db.ts";
import { chainOf, countLiveRunsOfRoot, depthOf, recordDepth } from "../../stores/triggers/firings.ts";

const TOO_MANY_NESTED_RUNS = `More than ${MAX_TRIGGER_DEPTH} runs would have started each other: this one was not started. Does a flow start itself?`;

/**
 * What starts a run: the id of another run; how deep that one says it is, where no more is known of it; "unknown" where it is
 * a run and nothing is known of it.
 */
export type StartedBy = string | number;

/** How many runs have started each other up to this one. */
export async function depthOfRun(db: Database, orgId: string, runId: string): Promise<number> {
  return await db.org(orgId, (connection) => depthOf(connection, runId));
}

/** The Problem of a run that another one starts beyond what may start each other. */
export function tooManyNested(): Problem {
  return new Problem("too_many_nested_runs", TOO_MANY_NESTED_RUNS);
}

/**
 * Counts a run that another one starts, by an action or by a call of our API, as runs that triggers start are counted; with
 * `continues` one that goes on where that run has stopped. Throws where it is not to be started: `too_many_nested_runs` where
 * more runs than may would have started each other, `too_many_concurrent_runs` where `most` runs are under way that the first
 * of them has led to.
 */
export async function admitNested(
  db: Database,
  orgId: string,
  from: { readonly startedBy?: StartedBy | undefined; readonly continues?: string | undefined },
  runId: string,
  most: number,
): Promise<void> {
  const { startedBy, continues } = from;
  if (startedBy === undefined && continues === undefined) return;
  await db.org(orgId, async (connection) => {
    const earlier = continues === undefined ? null : await chainOf(connection, continues);
    const caller =
      startedBy === undefined
        ? null
        : typeof startedBy === "number"
          ? { depth: startedBy, root: runId }
          : startedBy === "unknown"
            ? { depth: 0, root: startedBy }
            : await chainOf(connection, startedBy);
    // One that goes on where another stopped is as deep as that one, unless a deeper one asks for it.
    const depth = Math.max(earlier?.depth ?? 0, caller === null ? 0 : caller.depth + 1);
    if (depth > MAX_TRIGGER_DEPTH) throw tooManyNested();
    const root = caller?.root ?? earlier?.root ?? runId;
    if (caller !== null && (await countLiveRunsOfRoot(connection, root, most)) >= most) {
      const message = `One run may have led to ${most} runs under way; try again when one has ended. Does a flow start itself?`;
      throw new Problem("too_many_concurrent_runs", message, { headers: { "Retry-After": "5" } });
    }
    await recordDepth(connection, { run_id: runId, org_id: orgId, depth, root });
  });
}
