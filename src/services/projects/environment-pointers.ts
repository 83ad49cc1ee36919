import type { CalledFlow } from "../../domain/flow/nodes/called-flow.ts";
import { Problem, noSuchVersion, invalid, required } from "../../domain/errors.ts";
import { DEFAULT_ENVIRONMENTS, PRODUCTION, type RunEnvironment } from "../../domain/projects/environments.ts";
import {
  findProjectInEnvironments,
  type EnvironmentPointer,
  type ProjectInEnvironments,
} from "../../stores/projects/projects.ts";
import type { Db } from "../../stores/db.ts";

/** A version to run, and the environment whose connections it uses; null for an explicit version. */
export interface VersionInEnvironment {
  readonly version: number;
  readonly environment: RunEnvironment | null;
}

/** What an environment of a project points to; null if the project does not have the environment. */
function environmentOf(project: ProjectInEnvironments, name: string): EnvironmentPointer | null {
  const { environments, published_version } = project;
  const known = environments !== null && Object.hasOwn(environments, name) ? environments[name] : undefined;
  if (name === PRODUCTION) return { version: published_version, bindings_id: known?.bindings_id ?? null };
  if (known) return known;
  return environments === null && DEFAULT_ENVIRONMENTS.includes(name) ? { version: null, bindings_id: null } : null;
}

/** The version that calls of an environment run. Throws 404 if there is no such environment, and 409 if it has no version. */
export function versionIn(project: ProjectInEnvironments, name: string | undefined): VersionInEnvironment {
  const { version, bindings_id } = environmentOf(project, name ?? PRODUCTION) ?? noSuchEnvironment(name ?? PRODUCTION);
  if (version !== null) return { version, environment: { name: name ?? PRODUCTION, bindings_id } };
  if (name === undefined) throw noSuchVersion();
  throw new Problem(
    "environment_empty",
    `The environment "${name}" of this project has no version yet. Promote one with PUT /v2/projects/${project.project_id}/environments/${name}.`,
  );
}

/**
 * The version that a child run of an environment runs: that of the environment which the call names; otherwise that of the called flow's
 * environment of the same name or, if it has none, the published one. Null if it does not exist.
 */
export function versionForChild(
  project: ProjectInEnvironments,
  name: string | null,
  { version, environment }: Omit<CalledFlow, "project_id">,
): VersionInEnvironment | null {
  if (environment !== undefined) {
    const named = environmentOf(project, environment);
    if (named?.version == null) return null;
    return { version: named.version, environment: { name: environment, bindings_id: named.bindings_id } };
  }
  const own = name === null ? null : environmentOf(project, name);
  const used = own?.version == null ? environmentOf(project, PRODUCTION) : own;
  const number = version === -1 ? (used?.version ?? null) : version;
  if (number === null) return null;
  return { version: number, environment: name === null ? null : { name, bindings_id: used?.bindings_id ?? null } };
}

/** Throws the 404 for an environment that a project does not have. */
export function noSuchEnvironment(name: string): never {
  throw new Problem("environment_not_found", `The project has no environment "${name}".`);
}

/** Throws 422 at `body.environment` unless the project has this environment. */
export async function requireNamedEnvironment(db: Db, projectId: string, name: string): Promise<void> {
  const project = required(await findProjectInEnvironments(db, projectId), "project");
  if (environmentOf(project, name) === null)
    throw invalid(["body", "environment"], "The project does not have this environment");
}
