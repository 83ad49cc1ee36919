import type { Principal } from "../../domain/accounts/principal.ts";
import { holdApiKey } from "../../stores/accounts/api-keys.ts";
import { holdUsers } from "../../stores/accounts/users.ts";
import type { Db } from "../../stores/db.ts";

/**
 * Checks that the caller is still an admin or a valid key, and locks the rows of the caller and of the key's creator
 * until the transaction ends, so that a later revocation sees everything the caller has created.
 */
export async function holdAdmin(db: Db, { type, id }: Principal): Promise<boolean> {
  const users = await holdUsers(db);
  if (type === "org_api_key") return holdApiKey(db, id);
  return users.some((user) => user.user_id === id && user.role === "admin" && user.disabled_at === null);
}
