import { columns, type RowOf } from "../columns.ts";
import type { Db } from "../db.ts";
import { selectPage, type Keyset } from "../keyset.ts";

const ROW = columns(`project_id uuid, org_id uuid, name text, description text, published_version int null,
  latest_version int, revision int, created_at timestamptz, updated_at timestamptz`);

export interface Project extends RowOf<typeof ROW> {
  /** 0 if the project has no version. */
  readonly latest_version: number;
  /** Increases with every change. */
  readonly revision: number;
}

const NEW = columns("project_id uuid, org_id uuid, name text, description text, created_by uuid");
const COLUMNS = ROW.select();
/** Deleted projects keep their rows for the runs that refer to them, but are hidden everywhere else. */
const LIVE = "org_id = current_org() and deleted_at is null";

/** Adds a project; false if the id exists (the request was retried). */
export async function insertProject(
  db: Db,
  /** `created_by` is the ID of the user or API key. */
  project: Omit<RowOf<typeof NEW>, "created_by"> & { readonly created_by?: string },
): Promise<boolean> {
  const row = { created_by: null, ...project };
  return db.any(`insert into projects ${NEW.into} on conflict (project_id) do nothing`, NEW.values(row));
}

export async function findProject(db: Db, projectId: string): Promise<Project | null> {
  return db.first(`select ${COLUMNS} from projects where project_id = $1::uuid and ${LIVE}`, [projectId]);
}

/** The version of an environment, and the promotion whose connections it uses; null if the flow's own are used. */
export interface EnvironmentPointer {
  readonly version: number | null;
  readonly bindings_id: string | null;
}

/** A project with its environments by name, read in one statement; null if the project has only the default ones. */
export interface ProjectInEnvironments extends Project {
  readonly environments: Readonly<Record<string, EnvironmentPointer>> | null;
}

export async function findProjectInEnvironments(db: Db, projectId: string): Promise<ProjectInEnvironments | null> {
  return db.first(
    `select ${COLUMNS}, (select json_object_agg(e.name, json_build_object('version', e.version, 'bindings_id', e.bindings_id))
        from environments e where e.project_id = projects.project_id) as environments
      from projects where project_id = $1::uuid and ${LIVE}`,
    [projectId],
  );
}

/** Which of those IDs are projects of the organisation. */
export async function existingProjects(db: Db, projectIds: readonly string[]): Promise<string[]> {
  return db.column(`select project_id from projects where project_id = any ($1::uuid[]) and ${LIVE}`, [projectIds]);
}

/** Locks a project against changes until the transaction ends. Flows that call it can still be deployed. */
export function lockProject(db: Db, projectId: string): Promise<Project | null> {
  return lock(db, projectId, "no key update");
}

/** Locks a project against changes, and against the deployment of flows that call it. */
export function lockProjectToDelete(db: Db, projectId: string): Promise<Project | null> {
  return lock(db, projectId, "update");
}

async function lock(db: Db, projectId: string, strength: "no key update" | "update"): Promise<Project | null> {
  return db.first(`select ${COLUMNS} from projects where project_id = $1::uuid and ${LIVE} for ${strength}`, [
    projectId,
  ]);
}

/** A page of the organisation's projects, or of the given ones. */
export async function listProjects(db: Db, page: Keyset, among: readonly string[] | undefined): Promise<Project[]> {
  const select = `select ${COLUMNS} from projects where ${LIVE}
    and ($1::uuid[] is null or project_id = any ($1::uuid[]))`;
  return selectPage(db, page, "project_id", select, [among ?? null]);
}

/** Changes the given fields; null leaves a field unchanged. */
export async function updateProject(
  db: Db,
  projectId: string,
  change: { name: string | null; description: string | null },
): Promise<Project | null> {
  return db.first(
    `update projects set name = coalesce($2::text, name), description = coalesce($3::text, description),
        revision = revision + 1, updated_at = now()
      where project_id = $1::uuid and ${LIVE} returning ${COLUMNS}`,
    [projectId, change.name, change.description],
  );
}

/** Publishes a version, and records when that first happened. */
export async function publishVersion(db: Db, projectId: string, version: number): Promise<Project | null> {
  return db.first(
    `with shown as (
        update flow_versions set first_published_at = now()
        where org_id = current_org() and project_id = $1::uuid and version = $2::int and first_published_at is null)
      update projects set published_version = $2::int,
        revision = revision + (published_version is distinct from $2::int)::int,
        updated_at = case when published_version is distinct from $2::int then now() else updated_at end
      where project_id = $1::uuid and ${LIVE} returning ${COLUMNS}`,
    [projectId, version],
  );
}

/** Takes the next version number of a locked project. */
export function takeNextVersion(db: Db, projectId: string): Promise<number> {
  const set = "latest_version = latest_version + 1, revision = revision + 1, updated_at = now()";
  return takeNumber(db, projectId, set, "latest_version");
}

/** Takes the next number (-2 and lower) for a document of a locked project's draft. No number is used twice. */
export function takeFrozenVersion(db: Db, projectId: string): Promise<number> {
  return takeNumber(db, projectId, "frozen_drafts = frozen_drafts + 1", "-1 - frozen_drafts");
}

async function takeNumber(db: Db, projectId: string, set: string, number: string): Promise<number> {
  const text = `update projects set ${set} where project_id = $1::uuid and ${LIVE} returning ${number} as number`;
  return (await db.one<{ number: number }>(text, [projectId])).number;
}

/** Deletes a project; false if there is none. Its runs continue. */
export async function deleteProject(db: Db, projectId: string): Promise<boolean> {
  return db.any(
    `update projects set deleted_at = now(), updated_at = now(), revision = revision + 1
      where project_id = $1::uuid and ${LIVE}`,
    [projectId],
  );
}
