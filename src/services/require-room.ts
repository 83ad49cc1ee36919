import { Problem } from "../domain/errors.ts";
import { countOthers } from "../stores/count-others.ts";
import type { Db } from "../stores/db.ts";

const TABLES = {
  monitors: "eval_monitors",
  triggers: "triggers",
  "webhook subscriptions": "webhook_subscriptions",
} as const;

/** Throws 409 if the organisation has `max` others already. Until the transaction ends nobody else adds one. */
export async function requireRoom(db: Db, what: keyof typeof TABLES, id: string, max: number): Promise<void> {
  if ((await countOthers(db, TABLES[what], id)) < max) return;
  throw new Problem("conflict", `The organisation has ${max} ${what}, as many as it may. Delete one first.`);
}
