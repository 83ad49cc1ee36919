import type { ProjectRole } from "../../domain/accounts/principal.ts";
import { columns } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const NEW = columns("project_id uuid, user_id uuid, org_id uuid, role text");

/** A user's role in one project. */
export interface ProjectGrant {
  readonly project_id: string;
  readonly project_name: string;
  readonly user_id: string;
  readonly email: string;
  readonly role: ProjectRole;
  readonly created_at: string;
}

const COLUMNS = "g.project_id, p.name as project_name, g.user_id, u.email, g.role, g.created_at";
const FROM = `project_roles g join users u using (user_id) join projects p using (project_id)
  where g.org_id = current_org() and p.deleted_at is null`;

/** A user's roles, by project. */
export type Grants = Readonly<Record<string, ProjectRole>>;

/** A page of the users with a role in a project, by user. */
export async function listProjectGrants(db: Db, projectId: string, page: Keyset): Promise<ProjectGrant[]> {
  const select = `select ${COLUMNS} from ${FROM} and g.project_id = $1::uuid`;
  return selectPage(db, page, "g.user_id", select, [projectId]);
}

/** A page of a user's roles in projects, by project. */
export async function listUserGrants(db: Db, userId: string, page: Keyset): Promise<ProjectGrant[]> {
  const select = `select ${COLUMNS} from ${FROM} and g.user_id = $1::uuid`;
  return selectPage(db, page, "g.project_id", select, [userId]);
}

/** The role of a user in a project, locked until the transaction ends. */
export async function lockProjectGrant(db: Db, projectId: string, userId: string): Promise<ProjectGrant | null> {
  return db.first(
    `select ${COLUMNS} from ${FROM} and g.project_id = $1::uuid and g.user_id = $2::uuid for update of g`,
    [projectId, userId],
  );
}

/** Gives a user a role in a project, replacing an earlier one. */
export async function setProjectGrant(
  db: Db,
  grant: Pick<ProjectGrant, "project_id" | "user_id" | "role"> & { readonly org_id: string },
): Promise<void> {
  await db.query(
    `insert into project_roles ${NEW.into} on conflict (project_id, user_id) do update set role = excluded.role`,
    NEW.values(grant),
  );
}

/** Removes a user's role in a project. */
export async function deleteProjectGrant(db: Db, projectId: string, userId: string): Promise<void> {
  await db.query(
    "delete from project_roles where org_id = current_org() and project_id = $1::uuid and user_id = $2::uuid",
    [projectId, userId],
  );
}
