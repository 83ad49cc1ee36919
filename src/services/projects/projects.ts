import { isWithin } from "../../domain/accounts/kept-rights.ts";
import { visibleProjects, type Principal } from "../../domain/accounts/principal.ts";
import { notFound, required } from "../../domain/errors.ts";
import type { Database, Db } from "../../stores/db.ts";
import { missingFlowVersions } from "../../stores/projects/flow-versions.ts";
import {
  existingProjects,
  findProject,
  findProjectInEnvironments,
  type Project,
  type ProjectInEnvironments,
} from "../../stores/projects/projects.ts";
import { projectOf, type ProjectOwned } from "../../stores/projects/project-of.ts";

/** A project of the organisation; null if there is none, or it was deleted. */
export function getProject(db: Database, orgId: string, projectId: string): Promise<Project | null> {
  return db.org(orgId, (connection) => findProject(connection, projectId));
}

/** A project of the organisation with its environments; null as for `getProject`. */
export function getProjectInEnvironments(
  db: Database,
  orgId: string,
  projectId: string,
): Promise<ProjectInEnvironments | null> {
  return db.org(orgId, (connection) => findProjectInEnvironments(connection, projectId));
}

/** A project of the organisation. Throws 404 with `what` as the missing thing. */
export async function requireProject(db: Database, orgId: string, projectId: string, what: string): Promise<Project> {
  return required(await getProject(db, orgId, projectId), what);
}

/** A project that a request names only to say what it is about. Throws 404 if the caller may not see it. */
export async function requireVisibleProject(db: Database, caller: Principal, projectId: string): Promise<void> {
  if (!isWithin(visibleProjects(caller), projectId)) throw notFound("project");
  await requireProject(db, caller.org_id, projectId, "project");
}

/** Resources that belong to a project and have their own ID. */
export type { ProjectOwned };

/** The project that a resource belongs to; null if the resource does not exist. */
export function findOwningProject(
  db: Database,
  orgId: string,
  owned: ProjectOwned,
  id: string,
): Promise<string | null> {
  return db.org(orgId, (connection) => projectOf(connection, owned, id));
}

/** The indexes of IDs that are not a project of the organisation. A deleted project counts as unknown. */
export async function unknownProjects(db: Database, orgId: string, projectIds: readonly string[]): Promise<number[]> {
  const known = new Set(await db.org(orgId, (connection) => existingProjects(connection, projectIds)));
  return projectIds.flatMap((id, at) => (known.has(id) ? [] : [at]));
}

/** The indexes of versions that a project does not have, for callers with a connection. */
export async function unknownFlowVersions(db: Db, projectId: string, versions: readonly number[]): Promise<number[]> {
  const missing = new Set(await missingFlowVersions(db, projectId, versions));
  return versions.flatMap((version, at) => (missing.has(version) ? [at] : []));
}

/** Whether a project exists, for callers with a connection. */
export async function existsProject(db: Db, projectId: string): Promise<boolean> {
  return (await existingProjects(db, [projectId])).length > 0;
}
