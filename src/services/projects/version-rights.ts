import { reachOf } from "../../domain/accounts/kept-rights.ts";
import type { Role } from "../../domain/accounts/principal.ts";
import type { Db } from "../../stores/db.ts";
import { findVersionRights } from "../../stores/projects/flow-versions.ts";

/** A flow version, whose rights apply to everything that its runs use. */
export interface ActingVersion {
  readonly project_id: string;
  readonly flow_version: number;
}

/**
 * The projects in which a version has the rights of role `needed`; undefined means all of the organisation. Read at
 * each use, so that revoking a role takes effect immediately.
 */
export async function reachOfVersion(
  db: Db,
  version: ActingVersion,
  needed: Role,
): Promise<readonly string[] | undefined> {
  const kept = await findVersionRights(db, version);
  return kept === null ? [version.project_id] : reachOf(kept, version.project_id, needed);
}
