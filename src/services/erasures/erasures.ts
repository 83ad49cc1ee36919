import { createHash } from "node:crypto";
import { required } from "../../domain/errors.ts";
import { eachRoundRobin, periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { findErasure, findOpenErasure, insertErasure, someOpenErasures } from "../../stores/erasures/erasures.ts";
import type { ErasureRow, NewErasure } from "../../stores/erasures/erasures.ts";
import type { StartErasure } from "../../temporal/erasures.ts";
import { recordCreated } from "../audit/audit.ts";
import type { RowAudit } from "../audit/audit.ts";
import { requireProject } from "../projects/projects.ts";

/** Most erasures that one round starts or finds running. */
const STARTED_AT_ONCE = 50;

/** The hash that replaces the ID of an erased user, so that only a person who knows the ID recognises it. */
export function hashUser(orgId: string, userId: string): string {
  return createHash("sha256").update(`${orgId}\n${userId}`).digest("hex");
}

/**
 * Starts to erase all data of a user, or returns the erasure that is already in progress. Throws the 404 of a project
 * that does not exist.
 */
export async function createErasure(
  db: Database,
  wanted: Omit<NewErasure, "user_hash">,
  audited: RowAudit<ErasureRow>,
): Promise<ErasureRow> {
  const { org_id, project_id, user_id } = wanted;
  if (project_id !== null) await requireProject(db, org_id, project_id, "project");
  const row = { ...wanted, user_hash: hashUser(org_id, user_id) };
  // The other erasure can end between the two statements; then a new one starts.
  for (;;) {
    const erasure = await db.orgTransaction(org_id, async (connection) => {
      const made = await insertErasure(connection, row);
      if (made !== null) await recordCreated(connection, audited, made);
      return made ?? (await findOpenErasure(connection, user_id, project_id));
    });
    if (erasure !== null) return erasure;
  }
}

/** One erasure. Throws 404. */
export async function requireErasure(db: Database, orgId: string, erasureId: string): Promise<ErasureRow> {
  return required(await db.org(orgId, (connection) => findErasure(connection, erasureId)), "erasure");
}

/** Starts the workflows of unfinished erasures unless they are running. Any number of processes may run it. */
export function startErasures(
  { db, startErasure }: { readonly db: Database; readonly startErasure: StartErasure },
  intervalMs: number,
  onError: (error: unknown) => void,
): Periodic {
  return periodically(
    intervalMs,
    async (isClosed) => {
      const open = await db.system((connection) => someOpenErasures(connection, STARTED_AT_ONCE));
      await eachRoundRobin(open, startErasure, { isClosed, onError });
    },
    onError,
  );
}
