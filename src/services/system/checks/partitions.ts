import type { Database } from "../../../stores/db.ts";
import { partitionsEnd } from "../../../stores/runs/run-partitions.ts";
import { ok, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

const PART = "Partitions";
/** Half of the time for which workers create partitions in advance. */
const ENOUGH_MS = 14 * 86_400_000;

/**
 * Whether the next partitions for records of runs exist. No finding if the tables are missing, because the schema check
 * reports that.
 */
export async function partitions(db: Database): Promise<Finding[]> {
  const end = await db.system(partitionsEnd).catch(() => null);
  if (end === null) return [];
  const until = end === undefined ? "are missing" : `exist until ${end.toISOString().slice(0, 10)}`;
  if (end !== undefined && end.getTime() - Date.now() >= ENOUGH_MS) return [ok(PART, until)];
  const advice =
    "Start a worker, which creates the next ones. Until then, later run records are kept, and deleted row by row.";
  return [warning(PART, `the partitions of run records ${until}`, advice)];
}
