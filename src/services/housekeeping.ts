import type { BlobStore } from "../platform/blobs/blobs.ts";
import { purgeAuditEntries } from "../stores/audit/audit-log.ts";
import type { Database } from "../stores/db.ts";
import { purgeIdempotencyKeys } from "../stores/http/idempotency.ts";
import { purgeDatasets } from "../stores/evals/datasets.ts";
import { purgeExperiments, purgeMonitoredRuns } from "../stores/evals/eval-purge.ts";
import { purgeMonitors } from "../stores/evals/monitors.ts";
import { purgeExpiredTokens } from "../stores/accounts/oauth-tokens.ts";
import { purgeProviderSignIns } from "../stores/accounts/provider-sign-ins.ts";
import { purgeSessions } from "../stores/accounts/sessions.ts";
import { purgeEvents } from "../stores/webhooks/outbox.ts";
import { purgeRateLimits } from "../stores/http/rate-limits.ts";
import { purgeFirings } from "../stores/triggers/firings.ts";
import { purgeActionRuns } from "../stores/providers/action-runs.ts";
import { purgeDeliveries } from "../stores/webhooks/deliveries.ts";
import { claimJob } from "../stores/blob-sweep.ts";
import { purgeDeltas } from "../stores/runs/run-deltas.ts";
import { purgeTurns } from "../stores/models/conversations.ts";
import { purgeReservations } from "../stores/models/spending.ts";
import { purgeNodePlaces } from "../stores/node-places.ts";
import { purgeRunJobs } from "../stores/runs/run-jobs.ts";
import { dropPartition, makePartition } from "../stores/runs/run-partitions.ts";
import { purgeRuns } from "../stores/runs/run-retention.ts";
import { MIN_BLOB_AGE_MS, sweepBlobs } from "./system/sweep-blobs.ts";
import { periodically } from "../platform/periodically.ts";
import type { Periodic } from "../platform/periodically.ts";

/** Nothing here is urgent: each round is some twenty transactions that mostly find nothing. */
const MAX_EVERY_MS = 300_000;
/** Longer than any run may take. Until then, no action is called a second time. */
const ACTION_RETENTION_MS = 31 * 24 * 3_600_000;
/** Retention of jobs on runs (ms). */
const JOB_RETENTION_MS = 31 * 24 * 3_600_000;
const BATCH = 1000;
/** Runs have thousands of rows each. */
const RUNS_AT_ONCE = 100;
/** Longer than a client's break from the stream of a run's events. */
const DELTA_RETENTION_MS = 600_000;
const SWEEP_EVERY_MS = 86_400_000;
/**
 * Partitions came with a new name: a process from before them may still claim the old one, and does not look into
 * them.
 */
const BLOB_SWEEP = "sweep of unreferenced blobs";

export interface HousekeepingOptions {
  /** How often housekeeping runs (ms); at least every five minutes. */
  readonly everyMs: number;
  /** How long deliveries are kept (ms). Their events are kept at least as long. */
  readonly eventRetentionMs: number;
  /** How long runs are kept after their end where no policy says less. Undefined: for ever. */
  readonly runRetentionDays: number | undefined;
  /** How long entries of the audit log are kept. Undefined: for ever. */
  readonly auditRetentionDays: number | undefined;
  /** How long the samples of monitors are kept. */
  readonly monitorRetentionDays: number;
  /** Called after a sweep with the number of blobs that nothing referred to. */
  readonly onSwept: (removed: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Removes what has expired: answers kept for Idempotency-Keys, tokens, sessions, counts of rate limits, old events,
 * deleted datasets, experiments and monitors, live texts of ended runs, old runs, and once a day the unreferenced
 * blobs. Any number of processes may run it.
 */
export function startHousekeeping(
  db: Database,
  blobs: BlobStore,
  {
    everyMs,
    eventRetentionMs,
    runRetentionDays,
    auditRetentionDays,
    monitorRetentionDays,
    onSwept,
    onError,
  }: HousekeepingOptions,
): Periodic {
  return periodically(
    Math.min(everyMs, MAX_EVERY_MS),
    async () => {
      await inBatches(async () => {
        const { removed, blobs: answers } = await db.system((connection) => purgeIdempotencyKeys(connection, BATCH));
        await Promise.all(answers.map((key) => blobs.delete(key)));
        return removed;
      });
      await inBatches(() => db.system((connection) => purgeExpiredTokens(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeSessions(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeProviderSignIns(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeRateLimits(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeReservations(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeNodePlaces(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeDeliveries(connection, eventRetentionMs, BATCH)));
      await inBatches(() => db.system((connection) => purgeFirings(connection, eventRetentionMs, BATCH)));
      await inBatches(() => db.system((connection) => purgeEvents(connection, eventRetentionMs, BATCH)));
      await inBatches(() => db.system((connection) => purgeExperiments(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeDatasets(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeMonitoredRuns(connection, BATCH)));
      await inBatches(() => db.system((connection) => purgeMonitors(connection, monitorRetentionDays, BATCH)));
      await inBatches(() => db.system((connection) => purgeActionRuns(connection, ACTION_RETENTION_MS, BATCH)));
      await inBatches(() => db.system((connection) => purgeRunJobs(connection, JOB_RETENTION_MS, BATCH)));
      await inBatches(
        () => db.system((connection) => purgeDeltas(connection, DELTA_RETENTION_MS, RUNS_AT_ONCE)),
        RUNS_AT_ONCE,
      );
      const kept = runRetentionDays ?? null;
      while (await db.system((connection) => makePartition(connection, kept)));
      // Before the runs: deleting these rows with their runs would take the longest.
      while (await db.system((connection) => dropPartition(connection, kept)));
      await inBatches(() => db.system((connection) => purgeRuns(connection, kept, RUNS_AT_ONCE)), RUNS_AT_ONCE);
      await inBatches(() => db.system((connection) => purgeTurns(connection, kept, BATCH)));
      if (auditRetentionDays !== undefined)
        await inBatches(() => db.system((connection) => purgeAuditEntries(connection, auditRetentionDays, BATCH)));
      if (await db.system((connection) => claimJob(connection, BLOB_SWEEP, SWEEP_EVERY_MS))) {
        onSwept(await sweepBlobs({ db, blobs }, new Date(Date.now() - MIN_BLOB_AGE_MS)));
      }
    },
    onError,
  );
}

/**
 * Each statement is small, but there are as many as there is work: a busy service makes more than one batch between
 * two rounds.
 */
async function inBatches(purge: () => Promise<number>, batch = BATCH): Promise<void> {
  while ((await purge()) === batch);
}
