import { z } from "zod";
import { textUpTo } from "../../schema-parts.ts";
import { emailAddress } from "../../accounts/accounts.ts";
import { ASSIGNEE_ROLES, type Assignees } from "../../runs/assignees.ts";
import { isUuid } from "../../uuid.ts";

/** Most users that one pause may name. */
const MAX_USERS = 100;

const user = textUpTo(320)
  .toLowerCase()
  .refine(
    (text) => isUuid(text) || emailAddress.safeParse(text.slice(0, 321)).success,
    "A user must be an ID or an e-mail address",
  );

/** The `assignees` field of every node that asks people. */
export const assigneesConfig = z
  .strictObject({
    users: z.array(user).max(MAX_USERS).default([]).describe("User IDs or email addresses"),
    roles: z
      .array(z.enum(ASSIGNEE_ROLES, `The roles that can answer are ${ASSIGNEE_ROLES.join(" and ")}`))
      .max(ASSIGNEE_ROLES.length)
      .default([])
      .describe("Users with one of these roles or with a role that includes it"),
  })
  .refine(({ users, roles }) => users.length + roles.length > 0, "Name users or roles, or omit assignees");

/** The people that a node asks, and what they are asked. */
export interface Asked {
  readonly assignees: Assignees;
  readonly required_approvals: number;
  /** Location of `assignees`, below `config`. */
  readonly path: ReadonlyArray<string | number>;
}
