import type { Principal } from "../../domain/accounts/principal.ts";
import { notFound, required } from "../../domain/errors.ts";
import type { Database } from "../../stores/db.ts";
import { getNodeRun, type NodeRunRow } from "../../stores/runs/node-runs.ts";
import { getRun, type RunRow } from "../../stores/runs/runs.ts";
import type { Parts } from "../parts.ts";

export { getNodeRun };
export type { NodeRunRow };
/** Adds up the usage of a run again, because it may have finished before one of its model calls was recorded. */
export { recountUsage } from "../../stores/runs/run-record.ts";

/** A run of the organisation; null if there is none. */
export async function findRun(db: Database, orgId: string, runId: string): Promise<RunRow | null> {
  return db.org(orgId, (connection) => getRun(connection, runId));
}

/** A run of the organisation. Throws 404. */
export async function requireRun(db: Database, orgId: string, runId: string): Promise<RunRow> {
  return required(await findRun(db, orgId, runId), "run");
}

/** A run that the caller may see; a public key sees only runs of published versions. */
export async function requireRunFor(
  { db, flows }: Parts<"db" | "flows">,
  { org_id, access }: Principal,
  runId: string,
): Promise<RunRow> {
  const row = await requireRun(db, org_id, runId);
  if (access === "public" && !(await flows.wasPublished(row))) throw notFound("run");
  return row;
}

/** Whether a run's record has a node at this path, which is its ID or, inside an iteration, like `map-0[3]/http-0`. */
export async function hasNodeRun(db: Database, orgId: string, runId: string, path: string): Promise<boolean> {
  return (await db.org(orgId, (connection) => getNodeRun(connection, runId, path))) !== null;
}
