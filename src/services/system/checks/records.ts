import type { Database, Db } from "../../../stores/db.ts";
import { countOpenErasures } from "../../../stores/erasures/erasures.ts";
import { partitionsEnd } from "../../../stores/runs/run-partitions.ts";
import { countStuckRuns } from "../../../stores/runs/stuck-runs.ts";
import { countWaitingStarts } from "../../../stores/starts/workflow-starts.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";

/** Half of the time for which workers create partitions in advance. */
const ENOUGH_MS = 14 * 86_400_000;

/** What the tables say of the work. No finding of a missing table, because the schema check reports that. */
export async function records(db: Database): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of [partitions, stuckRuns, starts, erasures]) {
    const finding = await db.system(check).catch(() => null);
    if (finding !== null) findings.push(finding);
  }
  return findings;
}

/** Whether the next partitions for records of runs exist. */
async function partitions(db: Db): Promise<Finding> {
  const end = await partitionsEnd(db);
  const until = end === undefined ? "are missing" : `exist until ${end.toISOString().slice(0, 10)}`;
  if (end !== undefined && end.getTime() - Date.now() >= ENOUGH_MS) return ok("Partitions", until);
  const advice =
    "Start a worker, which creates the next ones. Until then, later run records are kept, and deleted row by row.";
  return warning("Partitions", `the partitions of run records ${until}`, advice);
}

async function stuckRuns(db: Db): Promise<Finding> {
  const { live, ended } = await countStuckRuns(db);
  if (live === 0 && ended === 0) return ok("Runs", "no run has a stuck workflow");
  const advice =
    "Check these runs (their state_reason is stuck) and the worker logs. After an upgrade, go back to the previous version; otherwise cancel them, or wait: Millrace fails them after a while.";
  const text = `runs with a stuck workflow: ${live} now, ${ended} failed because of it in the last 24 hours`;
  return live > 0 ? problem("Runs", text, advice) : warning("Runs", text, advice);
}

/** How many workflows wait for their start, and why the last failed start failed. */
async function starts(db: Db): Promise<Finding> {
  const { waiting, failing, last_error } = await countWaitingStarts(db);
  if (failing === 0) return ok("Starts", `${waiting} workflows wait for their start`);
  const advice = "Workers start them again within a minute. Check that the workers reach Temporal.";
  return warning("Starts", `${failing} of ${waiting} waiting workflows could not be started: ${last_error}`, advice);
}

/** How many erasures are in progress, and whether one fails. */
async function erasures(db: Db): Promise<Finding> {
  const { open, failing } = await countOpenErasures(db);
  if (failing === 0) return ok("Erasures", `${open} in progress`);
  const advice = "They are retried. See the worker logs for the reason.";
  return warning("Erasures", `${failing} of ${open} in progress have failed in their last step`, advice);
}
