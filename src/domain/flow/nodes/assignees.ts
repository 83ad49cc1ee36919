import { z } from "zod";
import { emailAddress } from "../../accounts/accounts.ts";
import { ASSIGNEE_ROLES } from "../../runs/assignees.ts";
import type { Assignees } from "../../runs/assignees.ts";
import { isUuid } from "../../uuid.ts";

/** People that one pause may name. */
const MAX_USERS = 100;

const user = z
  .string()
  .min(1)
  .max(320)
  .toLowerCase()
  .refine(
    (text) => isUuid(text) || emailAddress.safeParse(text.slice(0, 321)).success,
    "A user is an id or an e-mail address",
  );

/** The member `assignees` of whatever asks people. */
export const assigneesConfig = z
  .strictObject({
    users: z.array(user).max(MAX_USERS).default([]).describe("Ids or e-mail addresses"),
    roles: z
      .array(z.enum(ASSIGNEE_ROLES, `The roles that can answer are ${ASSIGNEE_ROLES.join(" and ")}`))
      .max(ASSIGNEE_ROLES.length)
      .default([])
      .describe("Everybody with this role, or with one that includes it"),
  })
  .refine(({ users, roles }) => users.length + roles.length > 0, "Name users or roles, or leave it out");

/** What a node asks of people, and of whom. */
export interface Asked {
  readonly assignees: Assignees;
  readonly required_approvals: number;
  /** Where `assignees` stands, below `config`. */
  readonly path: ReadonlyArray<string | number>;
}
