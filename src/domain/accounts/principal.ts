import type { KeyLimits } from "./key-limits.ts";

/** What a user may do in an organisation; each role includes the ones before it. A member has only the roles granted in projects. */
export const ROLES = ["member", "viewer", "editor", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** What a user may do in one project; an admin also decides who else may. */
export const PROJECT_ROLES = ["viewer", "editor", "admin"] as const satisfies readonly Role[];
export type ProjectRole = (typeof PROJECT_ROLES)[number];

/** The authenticated caller. A secret key acts with the rights of an admin; a public key may only use the operations open to it. */
export interface Principal {
  readonly org_id: string;
  readonly type: "org_api_key" | "user";
  /** Id of the API key or of the user. */
  readonly id: string;
  readonly access: "public" | "secret";
  /** The role in the project that the request names, otherwise the role in the organisation. */
  readonly role: Role;
  /** The role in the organisation, if `role` is that of a project. */
  readonly organisation_role?: Role;
  /** The console session of a signed-in user. */
  readonly session_id?: string;
  /** Roles of a user by project ID. */
  readonly grants?: Readonly<Record<string, ProjectRole>>;
  readonly limits?: KeyLimits;
}

/** The ID of the API key that makes the request; null if a user does. */
export function keyOf({ type, id }: Pick<Principal, "type" | "id">): string | null {
  return type === "org_api_key" ? id : null;
}

/** Whether the caller may see credentials that others have written into flows, addresses and settings. */
export function seesSecrets({ access, role }: Principal): boolean {
  return access === "secret" && roleAllows(role, "editor");
}

/** The caller with a viewer's rights, for showing what everyone in the organisation may see. */
export function asViewer(principal: Principal): Principal {
  return { ...principal, role: "viewer" };
}

/** Whether `role` includes the rights of `needed`. */
export function roleAllows(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The parts of a caller that decide in which projects it may do what. */
type Roles = Pick<Principal, "role" | "organisation_role" | "grants" | "limits">;

/** A caller's role in a project: the role in the organisation, or a higher one granted in the project. */
export function roleIn(principal: Roles, projectId: string): Role {
  const role = organisationRole(principal);
  const { grants } = principal;
  const granted = grants?.[projectId.toLowerCase()] ?? role;
  return roleAllows(granted, role) ? granted : role;
}

/** The highest role that a caller has anywhere. */
export function highestRole(principal: Principal): Role {
  return Object.keys(principal.grants ?? {}).reduce<Role>((highest, id) => {
    const role = roleIn(principal, id);
    return roleAllows(role, highest) ? role : highest;
  }, organisationRole(principal));
}

/** The role in the organisation, independent of the project that a request names. */
export function organisationRole({ role, organisation_role = role }: Roles): Role {
  return organisation_role;
}

/** The caller with the role that it has in a project. */
export function asIn(principal: Principal, projectId: string): Principal {
  return { ...principal, role: roleIn(principal, projectId), organisation_role: organisationRole(principal) };
}

/** The projects in which a caller has at least the role `needed`; undefined means the whole organisation. */
export function projectsWith(principal: Roles, needed: Role): readonly string[] | undefined {
  const { grants = {}, limits } = principal;
  if (limits?.projects != null) return limits.projects;
  if (roleAllows(organisationRole(principal), needed)) return undefined;
  return Object.keys(grants).filter((id) => roleAllows(roleIn(principal, id), needed));
}

/** The projects that a caller may see; undefined means the whole organisation. */
export function visibleProjects(principal: Principal): readonly string[] | undefined {
  return projectsWith(principal, "viewer");
}

/**
 * The projects whose flows a flow of this caller may run. For a caller who can only read, these are all visible projects, so that
 * validation reports only references to projects that the caller cannot see.
 */
export function runnableProjects(principal: Principal): readonly string[] | undefined {
  return projectsWith(principal, roleAllows(highestRole(principal), "editor") ? "editor" : "viewer");
}
