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
  /** The role in the project that a request names, if it names one. */
  readonly role: Role;
  /** The role in the organisation, if `role` is a project's. */
  readonly organisation_role?: Role;
  /** The session of a user who is signed in to the console. */
  readonly session_id?: string;
  /** The roles of a user in single projects, by their ids. */
  readonly grants?: Readonly<Record<string, ProjectRole>>;
  /** For a limited key. */
  readonly limits?: KeyLimits;
}

/** Whether the caller may see credentials that others have written into flows, addresses and settings. */
export function seesSecrets({ access, role }: Principal): boolean {
  return access === "secret" && roleAllows(role, "editor");
}

/** The caller with the rights of a viewer: to it the API shows what anybody in the organisation may see. */
export function asViewer(principal: Principal): Principal {
  return { ...principal, role: "viewer" };
}

/** Whether `role` includes the rights of `needed`. */
export function roleAllows(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The role of a caller in a project: the one in the organisation, or a higher one that is granted there. */
export function roleIn(principal: Principal, projectId: string): Role {
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

function organisationRole({ role, organisation_role = role }: Principal): Role {
  return organisation_role;
}

/** The caller with the role that it has in a project. */
export function asIn(principal: Principal, projectId: string): Principal {
  return { ...principal, role: roleIn(principal, projectId), organisation_role: organisationRole(principal) };
}

/** The projects in which a caller has the rights of `needed`; undefined where that is all of the organisation. */
export function projectsWith(principal: Principal, needed: Role): readonly string[] | undefined {
  const { grants = {}, limits } = principal;
  if (limits?.projects != null) return limits.projects;
  if (roleAllows(organisationRole(principal), needed)) return undefined;
  return Object.keys(grants).filter((id) => roleAllows(roleIn(principal, id), needed));
}

/** The projects that a caller may see; undefined where that is all of the organisation. */
export function visibleProjects(principal: Principal): readonly string[] | undefined {
  return projectsWith(principal, "viewer");
}
