import { roleAllows, type Principal, type Role } from "../accounts/principal.ts";

/** Roles that can answer a pause. */
export const ASSIGNEE_ROLES = ["editor", "admin"] as const satisfies readonly Role[];
export type AssigneeRole = (typeof ASSIGNEE_ROLES)[number];

/** Who may answer a pause: users by ID or e-mail address, both in lower case, and everyone with one of the roles. */
export interface Assignees {
  readonly users: readonly string[];
  readonly roles: readonly AssigneeRole[];
}

/** What decides whether a user may answer. */
export interface Person {
  readonly user_id: string;
  readonly email: string;
  readonly role: Role;
}

/** The names by which assignees can include a person. */
export function namesOf({ user_id, email, role }: Person): Assignees {
  return {
    users: [user_id, email.toLowerCase()],
    // A higher role includes the lower ones.
    roles: ASSIGNEE_ROLES.filter((each) => roleAllows(role, each)),
  };
}

export function isAssignee(assignees: Assignees, person: Person): boolean {
  const { users, roles } = namesOf(person);
  return users.some((name) => assignees.users.includes(name)) || roles.some((role) => assignees.roles.includes(role));
}

/** Who answers a pause: a caller, or a visitor of a published page. */
export interface Answerer extends Pick<Principal, "id" | "role"> {
  readonly type: Principal["type"] | "page";
}

/** How the person, key or page that answered is recorded: `user:<id>`, `org_api_key:<id>`, `page:<id>`. */
export const answererOf = ({ type, id }: Pick<Answerer, "type" | "id">): string => `${type}:${id}`;

/** Some of the people who may answer, for a message. */
export function assigneesText({ users, roles }: Assignees): string {
  const named = users.slice(0, 5);
  const rest = users.length - named.length;
  return [...named, ...(rest > 0 ? [`${rest} more`] : []), ...roles.map((role) => `every ${role}`)].join(", ");
}
