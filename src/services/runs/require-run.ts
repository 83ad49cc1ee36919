import type { Principal } from "../../domain/accounts/principal.ts";
import { notFound, required } from "../../domain/errors.ts";
import type { Database } from "../../stores/db.ts";
import { getNodeRun } from "../../stores/runs/node-runs.ts";
import { getRun } from "../../stores/runs/runs.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { FlowCache } from "../projects/flow-cache.ts";

/** A run of the organisation. Throws the 404 of one that does not exist. */
export async function requireRun(db: Database, orgId: string, runId: string): Promise<RunRow> {
  return required(await db.org(orgId, (connection) => getRun(connection, runId)), "run");
}

/** The same for a caller: for a public key, only runs of published versions exist. */
export async function requireRunFor(
  { db, flows }: { readonly db: Database; readonly flows: FlowCache },
  { org_id, access }: Principal,
  runId: string,
): Promise<RunRow> {
  const row = await requireRun(db, org_id, runId);
  if (access === "public" && !(await flows.wasPublished(row))) throw notFound("run");
  return row;
}

/** Whether the record of a run has a node of this path: its id, or inside an iteration `map-0[3]/http-0`. */
export async function hasNodeRun(db: Database, orgId: string, runId: string, path: string): Promise<boolean> {
  return (await db.org(orgId, (connection) => getNodeRun(connection, runId, path))) !== null;
}
