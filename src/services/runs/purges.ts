import { purgeNodePlaces } from "../../stores/runs/node-places.ts";
import { purgeDeltas } from "../../stores/runs/run-deltas.ts";
import { purgeRunJobs } from "../../stores/runs/run-jobs.ts";
import { dropPartition, makePartition } from "../../stores/runs/run-partitions.ts";
import { purgeRemovedRuns, purgeRuns } from "../../stores/runs/run-retention.ts";
import { purgeOf } from "../house/purge.ts";

/** Runs purged per statement; few, because each may have thousands of rows. */
const RUNS_AT_ONCE = 100;
/** How long jobs on runs are kept (ms). */
const JOB_RETENTION_MS = 31 * 24 * 3_600_000;
/** How long live texts are kept (ms), longer than a client's interruption of a run's event stream. */
const DELTA_RETENTION_MS = 600_000;

export const runPurges = [
  purgeOf("slots of nodes", purgeNodePlaces),
  purgeOf("jobs on runs", (db, batch) => purgeRunJobs(db, JOB_RETENTION_MS, batch)),
  purgeOf("live texts", (db, batch) => purgeDeltas(db, DELTA_RETENTION_MS, batch), RUNS_AT_ONCE),
  purgeOf("new partitions", async (db, _, { runDays }) => Number(await makePartition(db, runDays)), 1),
  // Before the runs, because deleting the rows of a partition one by one takes longest.
  purgeOf("old partitions", async (db, _, { runDays }) => Number(await dropPartition(db, runDays)), 1),
  purgeOf("runs", (db, batch, { runDays }) => purgeRuns(db, runDays, batch), RUNS_AT_ONCE),
  // After the events, jobs and responses that name these runs have expired.
  purgeOf("removed runs", (db, batch, { eventMs }) => purgeRemovedRuns(db, Math.max(JOB_RETENTION_MS, eventMs), batch)),
];
