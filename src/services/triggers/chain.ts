import { Problem } from "../../domain/errors.ts";
import { MAX_TRIGGER_DEPTH } from "../../domain/triggers/trigger.ts";
import type { Database, Db } from "../../stores/db.ts";
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

/** Where a run stands whose request makes another one. */
interface Place {
  readonly depth: number;
  /** The first run of its chain. */
  readonly root: string;
}

/** The Problem of a run that another one starts beyond what may start each other. */
function tooManyNested(): Problem {
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
    const caller = await placeOf(connection, startedBy, runId);
    // One that goes on where another stopped is as deep as that one, unless a deeper one asks for it.
    const depth = Math.max(earlier?.depth ?? 0, caller === null ? 0 : caller.depth + 1);
    const root = caller?.root ?? earlier?.root ?? runId;
    await requirePlace(connection, { depth, root }, caller === null ? Infinity : most);
    await recordDepth(connection, { run_id: runId, org_id: orgId, depth, root });
  });
}

/**
 * The place of a run that a request of another one fires, as `admitNested` counts them; null where no run has made the request.
 * Throws the same.
 */
export async function placeOfFiring(
  connection: Db,
  startedBy: string | undefined,
  runId: string,
  most: number,
): Promise<Place | null> {
  const caller = await placeOf(connection, startedBy, runId);
  if (caller === null) return null;
  const place = { depth: caller.depth + 1, root: caller.root };
  await requirePlace(connection, place, most);
  return place;
}

async function placeOf(connection: Db, startedBy: StartedBy | undefined, runId: string): Promise<Place | null> {
  if (startedBy === undefined) return null;
  if (typeof startedBy === "number") return { depth: startedBy, root: runId };
  return startedBy === "unknown" ? { depth: 0, root: startedBy } : chainOf(connection, startedBy);
}

/** Throws where a run at this place is not to be started. */
async function requirePlace(connection: Db, { depth, root }: Place, most: number): Promise<void> {
  if (depth > MAX_TRIGGER_DEPTH) throw tooManyNested();
  if (most === Infinity || (await countLiveRunsOfRoot(connection, root, most)) < most) return;
  const message = `One run may have led to ${most} runs under way; try again when one has ended. Does a flow start itself?`;
  throw new Problem("too_many_concurrent_runs", message, { headers: { "Retry-After": "5" } });
}
