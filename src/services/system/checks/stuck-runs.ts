import type { Database } from "../../../stores/db.ts";
import { countStuckRuns } from "../../../stores/runs/stuck-runs.ts";
import { ok, problem, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** No finding if the tables do not exist, because the schema check reports that. */
export async function stuckRuns(db: Database): Promise<Finding[]> {
  const counted = await db.system(countStuckRuns).catch(() => null);
  if (!counted) return [];
  const { live, ended } = counted;
  if (live === 0 && ended === 0) return [ok("Runs", "no run has a stuck workflow")];
  const advice =
    "Check these runs (their state_reason is stuck) and the worker logs. After an upgrade, go back to the previous version; otherwise cancel them, or wait: Millrace fails them after a while.";
  const text = `runs with a stuck workflow: ${live} now, ${ended} failed because of it in the last 24 hours`;
  return [live > 0 ? problem("Runs", text, advice) : warning("Runs", text, advice)];
}
