import type { ReferenceKind } from "../../domain/flow/nodes/spec.ts";
import type { Db } from "../db.ts";

/** A reference in a version of a flow. */
export interface ReferenceRow {
  readonly kind: ReferenceKind;
  readonly id: string;
}

/** A project whose published flow uses something. */
export interface ReferenceUser {
  readonly project_id: string;
  readonly name: string;
}

/** Records the references of a version; repeated ones count once. */
export async function insertFlowReferences(
  db: Db,
  version: { readonly project_id: string; readonly org_id: string; readonly version: number },
  references: readonly ReferenceRow[],
): Promise<void> {
  await db.query(
    `insert into flow_references (project_id, version, org_id, kind, target_id)
      select distinct $1::uuid, $2::int, $3::uuid, r.kind, r.id from unnest($4::text[], $5::text[]) r (kind, id)`,
    [
      version.project_id,
      version.version,
      version.org_id,
      references.map(({ kind }) => kind),
      references.map(({ id }) => id),
    ],
  );
}

/** SQL: whether an environment of project `p` has version `r.version`; production has the published one. */
const IN_ENVIRONMENT = `(p.published_version = r.version
  or exists (select from environments e where e.project_id = p.project_id and e.version = r.version))`;

/** The projects with an environment whose flow refers to this, or that uses this connection; not the project itself. */
export async function usersOf(db: Db, target: ReferenceRow, limit: number): Promise<ReferenceUser[]> {
  return db.query(
    `select p.project_id, p.name from flow_references r
      join projects p on p.project_id = r.project_id and p.deleted_at is null
      where r.org_id = current_org() and r.kind = $1::text and r.target_id = $2::text and ${IN_ENVIRONMENT}
        and not (r.kind = 'project' and p.project_id::text = r.target_id)
      union
      select p.project_id, p.name from environments e
      join projects p on p.project_id = e.project_id and p.deleted_at is null
      join promotions m on m.promotion_id = e.bindings_id
      where $1::text = 'connection' and e.org_id = current_org()
        and exists (select from jsonb_each_text(m.connections) as c where c.value = $2::text)
      order by project_id limit $3::int`,
    [target.kind, target.id, limit],
  );
}

/** A project whose published flow uses some actions of a provider. */
export interface ActionUser extends ReferenceUser {
  readonly action_ids: readonly string[];
}

/** The projects whose published flow uses any of these actions of a provider, with the actions. */
export async function usersOfActions(
  db: Db,
  providerId: string,
  actionIds: readonly string[],
  limit: number,
): Promise<ActionUser[]> {
  return db.query(
    `select p.project_id, p.name, array_agg(substr(r.target_id, length($1::text) + 2) order by r.target_id) as action_ids
      from flow_references r
      join projects p on p.project_id = r.project_id and p.deleted_at is null
      where r.org_id = current_org() and r.kind = 'action' and ${IN_ENVIRONMENT}
        and r.target_id in (select $1::text || '/' || id from unnest($2::text[]) as id)
      group by p.project_id, p.name order by p.project_id limit $3::int`,
    [providerId, actionIds, limit],
  );
}
