import type { Bindings } from "../../domain/projects/environments.ts";
import type { Db } from "../db.ts";

/** The connections that a promotion replaces. Throws if there is no such promotion. */
export async function bindingsOf(db: Db, promotionId: string): Promise<Bindings> {
  const found = await db.value<Bindings>("select connections from promotions where promotion_id = $1::uuid", [
    promotionId,
  ]);
  if (found === null) throw new Error(`promotion ${promotionId} does not exist`);
  return found;
}
