import { roleAllows } from "../accounts/principal.ts";
import type { Principal, Role } from "../accounts/principal.ts";

/** Roles that can answer a pause at all. */
export const ASSIGNEE_ROLES = ["editor", "admin"] as const satisfies readonly Role[];
export type AssigneeRole = (typeof ASSIGNEE_ROLES)[number];

/** Who may answer a pause: users by their ids or e-mail addresses, both in lower case, and all who have a role. */
export interface Assignees {
  readonly users: readonly string[];
  readonly roles: readonly AssigneeRole[];
}

/** The facts about a user that decide who may answer. */
export interface Person {
  readonly user_id: string;
  readonly email: string;
  readonly role: Role;
}

/** The names under which assignees can mean a person. */
export function namesOf({ user_id, email, role }: Person): Assignees {
  return {
    users: [user_id, email.toLowerCase()],
    // Each role includes the ones before it.
    roles: ASSIGNEE_ROLES.filter((each) => roleAllows(role, each)),
  };
}

/** Whether a person may answer. */
export function isAssignee(assignees: Assignees, person: Person): boolean {
  const { users, roles } = namesOf(person);
  return users.some((name) => assignees.users.includes(name)) || roles.some((role) => assignees.roles.includes(role));
}

/** How respondents are recorded: `user:<id>`, `org_api_key:<id>`. */
export const answererOf = ({ type, id }: Principal): string => `${type}:${id}`;

/** A few people who may answer, for a message. */
export function assigneesText({ users, roles }: Assignees): string {
  const named = users.slice(0, 5);
  const rest = users.length - named.length;
  return [...named, ...(rest > 0 ? [`${rest} more`] : []), ...roles.map((role) => `every ${role}`)].join(", ");
}
