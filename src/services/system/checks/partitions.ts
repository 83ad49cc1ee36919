import type { Database } from "../../../stores/db.ts";
import { partitionsEnd } from "../../../stores/runs/run-partitions.ts";
import { ok, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

const PART = "Partitions";
/** Half of the time that workers prepare in advance. */
const ENOUGH_MS = 14 * 86_400_000;

/**
 * Whether the next partitions for records of runs exist. No finding without the tables: the schema's own finding says
 * so.
 */
export async function partitions(db: Database): Promise<Finding[]> {
  const end = await db.system(partitionsEnd).catch(() => null);
  if (end === null) return [];
  const until = end === undefined ? "missing" : `there until ${end.toISOString().slice(0, 10)}`;
  if (end !== undefined && end.getTime() - Date.now() >= ENOUGH_MS) return [ok(PART, until)];
  const advice = "Start a worker, which makes the next. Later records of runs are kept, and removed row by row.";
  return [warning(PART, `those of the records of runs are ${until}`, advice)];
}
