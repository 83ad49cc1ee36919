import type { Database } from "../../stores/db.ts";
import { masterKeyIds } from "../../stores/secrets/sealed.ts";

/**
 * The problem if there is no master key but the database has secrets, for example after a restore; undefined if a new
 * key may be created. A database that is unreachable or not migrated counts as one without secrets.
 */
export async function missingKeys(db: Database, place: string): Promise<string | undefined> {
  const ids = await db.system(masterKeyIds).catch(() => []);
  if (ids.length === 0) return undefined;
  return `${place} has no master key, but the database has secrets encrypted with ${ids.join(", ")}`;
}

export const MISSING_KEYS_ADVICE =
  "Put that key into MILLRACE_MASTER_KEY, or its file there: a new key could not decrypt them.";
