import { Problem } from "../../domain/errors.ts";
import { MAX_TRIGGER_DEPTH } from "../../domain/triggers/trigger.ts";
import type { Database, Db } from "../../stores/db.ts";
import { chainOf, countLiveRunsOfRoot, depthOf, recordDepth } from "../../stores/triggers/firings.ts";

/**
 * What starts a run: the ID of another run, or only that run's depth if nothing else is known, or "unknown" for a run
 * without either.
 */
export type StartedBy = string | number;

/** How many runs in a chain have started each other before this one. */
export async function depthOfRun(db: Database, orgId: string, runId: string): Promise<number> {
  return await db.org(orgId, (connection) => depthOf(connection, runId));
}

/** The position of a run in a chain of runs that start each other. */
interface Place {
  readonly depth: number;
  /** The first run of its chain. */
  readonly root: string;
}

/**
 * Counts a run that another one starts by an action or an API call, like runs that triggers start. With `continues`,
 * the run resumes that one. Throws `too_many_nested_runs` if the chain would be too long, and
 * `too_many_concurrent_runs` if `most` runs of the same chain are unfinished.
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
    // A resumed run is as deep as the earlier one, unless a deeper run requests it.
    const depth = Math.max(earlier?.depth ?? 0, caller === null ? 0 : caller.depth + 1);
    const root = caller?.root ?? earlier?.root ?? runId;
    await requirePlace(connection, { depth, root }, caller === null ? Infinity : most);
    await recordDepth(connection, { run_id: runId, org_id: orgId, depth, root });
  });
}

/**
 * The position of a run whose trigger fires on another run's request, or on no run's. Checks the same limits as
 * `admitNested`.
 */
export async function placeOfFiring(
  connection: Db,
  startedBy: string | undefined,
  runId: string,
  most: number,
): Promise<Pick<Place, "depth"> & Partial<Place>> {
  const caller = await placeOf(connection, startedBy, runId);
  if (caller === null) return { depth: 0 };
  const place = { depth: caller.depth + 1, root: caller.root };
  await requirePlace(connection, place, most);
  return place;
}

async function placeOf(connection: Db, startedBy: StartedBy | undefined, runId: string): Promise<Place | null> {
  if (startedBy === undefined) return null;
  if (typeof startedBy === "number") return { depth: startedBy, root: runId };
  return startedBy === "unknown" ? { depth: 0, root: startedBy } : chainOf(connection, startedBy);
}

/** Throws if no run may start at this position. */
async function requirePlace(connection: Db, { depth, root }: Place, most: number): Promise<void> {
  if (depth > MAX_TRIGGER_DEPTH)
    throw new Problem(
      "too_many_nested_runs",
      `Not started: more than ${MAX_TRIGGER_DEPTH} nested runs. Check whether a flow starts itself.`,
    );
  if (most === Infinity || (await countLiveRunsOfRoot(connection, root, most)) < most) return;
  const message = `The limit for unfinished runs started by one run is ${most}. Retry when one finishes, and check whether a flow starts itself.`;
  throw new Problem("too_many_concurrent_runs", message, { headers: { "Retry-After": "5" } });
}
