import { z } from "zod";
import { USER_ROLES } from "../../stores/accounts/users.ts";
import type { User } from "../../stores/accounts/users.ts";
import { asDeclared } from "../http/as-declared.ts";

export const userSchema = z
  .object({
    user_id: z.uuid(),
    email: z.string(),
    role: z
      .enum(USER_ROLES)
      .describe(
        "`member`: only what project roles allow. `viewer`: can read. `editor`: can read, write and run. `admin`: can also manage keys and users.",
      ),
    disabled: z.boolean().describe("Whether the user is disabled and cannot sign in."),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "User" });

export function presentUser(user: User): z.infer<typeof userSchema> {
  return asDeclared(userSchema, { ...user, disabled: user.disabled_at !== null });
}
