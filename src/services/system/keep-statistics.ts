import { periodically } from "../../platform/periodically.ts";
import type { Periodic } from "../../platform/periodically.ts";
import type { Database } from "../../stores/db.ts";
import { analyseGrownTables } from "../../stores/statistics.ts";

const EVERY_MS = 5000;

/** Keeps Postgres' planner statistics up to date with its tables. Any number of processes may run it. */
export function startKeepingStatistics(db: Database, onError: (error: unknown) => void): Periodic {
  return periodically(EVERY_MS, async () => void (await db.system(analyseGrownTables)), onError);
}
