import type { Database } from "../../stores/db.ts";
import { masterKeyIds } from "../../stores/secrets/sealed.ts";

/**
 * What is wrong where no master key is found and the database has secrets, as after a restore; undefined if a new key
 * may be made. A database that does not answer, or has not been migrated, is taken for one without secrets.
 */
export async function missingKeys(db: Database, place: string): Promise<string | undefined> {
  const ids = await db.system(masterKeyIds).catch(() => []);
  if (ids.length === 0) return undefined;
  return `there is none in ${place}, and the database has secrets under ${ids.join(", ")}`;
}

export const MISSING_KEYS_ADVICE =
  "Put that key into MILLRACE_MASTER_KEY, or its file there: a new one would open none of them.";
