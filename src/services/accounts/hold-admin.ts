import type { Principal } from "../../domain/accounts/principal.ts";
import { holdApiKey } from "../../stores/accounts/api-keys.ts";
import { holdUsers } from "../../stores/accounts/users.ts";
import type { Db } from "../../stores/db.ts";
import { lockProjectGrant } from "../../stores/accounts/project-roles.ts";

/**
 * Checks that the caller is still an admin or a valid key, and locks the rows of the caller and of the key's creator
 * until the transaction ends, so that a later revocation sees everything the caller has created.
 */
export async function holdAdmin(db: Db, { type, id }: Principal): Promise<boolean> {
  const users = await holdUsers(db);
  if (type === "org_api_key") return holdApiKey(db, id);
  return users.some((user) => user.user_id === id && user.role === "admin" && user.disabled_at === null);
}

/** Like `holdAdmin`, for operations that project admins may also perform. */
export async function holdProjectAdmin(db: Db, principal: Principal, projectId: string): Promise<boolean> {
  if (await holdAdmin(db, principal)) return true;
  const grant = principal.type === "user" ? await lockProjectGrant(db, projectId, principal.id) : null;
  return grant?.role === "admin";
}
