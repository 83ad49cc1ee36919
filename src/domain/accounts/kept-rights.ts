import { organisationRole, projectsWith, type Principal, type ProjectRole, type Role } from "./principal.ts";

/** The roles that decide what a caller may do in which projects. */
interface Rights {
  readonly role: Role;
  /** Roles by project ID; null if the caller has none. */
  readonly grants: Readonly<Record<string, ProjectRole>> | null;
}

/** The rights of the caller who deployed a flow version or set a trigger, as they were at that time. */
export interface KeptRights extends Rights, Pick<Principal, "type" | "id"> {
  /** The projects of a restricted key; null for all. */
  readonly projects: readonly string[] | null;
}

/** Rights kept at the deployment, and the current rights of the same user. */
export interface RightsThenAndNow {
  /** Null for versions and triggers from before rights were recorded: they reach the whole organisation. */
  readonly rights: KeptRights | null;
  /** Null for keys, whose projects never change, and for deleted users, whose versions keep their old rights. */
  readonly present: Rights | null;
}

/** The rights to store with a version or trigger that the caller creates. */
export function keptRights(principal: Principal): KeptRights {
  const { type, id, grants = null, limits } = principal;
  return { type, id, role: organisationRole(principal), grants, projects: limits?.projects ?? null };
}

/**
 * The projects in which a version or trigger of project `own` has at least the role `needed`: the ones that both the kept and the current
 * rights allow, and always its own project. Undefined means the whole organisation.
 */
export function reachOf(
  { rights, present }: RightsThenAndNow,
  own: string,
  needed: Role,
): readonly string[] | undefined {
  if (rights === null) return undefined;
  const then = rights.projects ?? reachable(rights, needed);
  const now = present === null ? undefined : reachable(present, needed);
  if (then === undefined && now === undefined) return undefined;
  const both = then === undefined ? now : now === undefined ? then : then.filter((id) => now.includes(id));
  return [own, ...(both ?? [])];
}

/** Whether `reach` includes the project; undefined means all projects. */
export function isWithin(reach: readonly string[] | undefined, projectId: string): boolean {
  return reach === undefined || reach.includes(projectId.toLowerCase());
}

function reachable({ role, grants }: Rights, needed: Role): readonly string[] | undefined {
  return projectsWith({ role, ...(grants !== null && { grants }) }, needed);
}
