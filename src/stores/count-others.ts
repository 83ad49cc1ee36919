import type { Db } from "./db.ts";

const KEYS = { eval_monitors: "monitor_id", triggers: "id", webhook_subscriptions: "subscription_id" } as const;

/** How many other rows the organisation has in a table. Concurrent additions wait until the transaction ends. */
export async function countOthers(db: Db, table: keyof typeof KEYS, except: string): Promise<number> {
  // A separate statement, because its snapshot must be taken after the lock to include rows that others added.
  await db.query("select pg_advisory_xact_lock(hashtextextended($1::text || ' ' || current_org(), 0))", [table]);
  return db.number(
    `select count(*) from ${table} where org_id = current_org() and deleted_at is null and ${KEYS[table]} <> $1::uuid`,
    [except],
  );
}
