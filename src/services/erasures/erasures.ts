import { createHash } from "node:crypto";
import { required } from "../../domain/errors.ts";
import type { Database } from "../../stores/db.ts";
import {
  findErasure,
  findOpenErasure,
  insertErasure,
  type ErasureRow,
  type NewErasure,
} from "../../stores/erasures/erasures.ts";
import { wantStarts } from "../../stores/starts/workflow-starts.ts";
import { recordCreated, type RowAudit } from "../audit/audit.ts";
import { requireProject } from "../projects/projects.ts";

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
      if (made !== null) {
        await wantStarts(connection, "erasure", [{ org_id, erasure_id: made.erasure_id }]);
        await recordCreated(connection, audited, made);
      }
      return made ?? (await findOpenErasure(connection, user_id, project_id));
    });
    if (erasure !== null) return erasure;
  }
}

/** One erasure. Throws 404. */
export async function requireErasure(db: Database, orgId: string, erasureId: string): Promise<ErasureRow> {
  return required(await db.org(orgId, (connection) => findErasure(connection, erasureId)), "erasure");
}
