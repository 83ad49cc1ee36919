import type { Principal } from "../../domain/accounts/principal.ts";
import { holdApiKey } from "../../stores/accounts/api-keys.ts";
import { holdUsers } from "../../stores/accounts/users.ts";
import type { Db } from "../../stores/db.ts";

/**
 * Whether the caller still is what it was when the request came: an admin, or a key that holds. Until the transaction ends it
 * stays so, and so does whoever made that key: whoever ends it afterwards sees what the caller makes meanwhile.
 */
export async function holdAdmin(db: Db, { type, id }: Principal): Promise<boolean> {
  const users = await holdUsers(db);
  if (type === "org_api_key") return holdApiKey(db, id);
  return users.some((user) => user.user_id === id && user.role === "admin" && user.disabled_at === null);
}
