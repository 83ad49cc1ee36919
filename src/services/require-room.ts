import { conflict } from "../domain/errors.ts";
import { countOthers } from "../stores/count-others.ts";
import type { Db } from "../stores/db.ts";

const TABLES = {
  monitors: "eval_monitors",
  triggers: "triggers",
  webhooks: "webhook_subscriptions",
} as const;

/** Throws 409 if the organisation already has `max` others. No other request can add one until the transaction ends. */
export async function requireRoom(db: Db, what: keyof typeof TABLES, id: string, max: number): Promise<void> {
  if ((await countOthers(db, TABLES[what], id)) < max) return;
  throw conflict(`The organisation has ${max} ${what}, the maximum. Delete one first.`);
}
