import type { Principal } from "../../domain/accounts/principal.ts";
import { lockProjectGrant } from "../../stores/accounts/project-roles.ts";
import type { Db } from "../../stores/db.ts";
import { holdAdmin } from "./hold-admin.ts";

/** Like `holdAdmin`, for operations that project admins may also perform. */
export async function holdProjectAdmin(db: Db, principal: Principal, projectId: string): Promise<boolean> {
  if (await holdAdmin(db, principal)) return true;
  const grant = principal.type === "user" ? await lockProjectGrant(db, projectId, principal.id) : null;
  return grant?.role === "admin";
}
