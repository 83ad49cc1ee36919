import { VISITOR_DAYS } from "../domain/pages/page.ts";
import type { BlobStore } from "../platform/blobs/blobs.ts";
import { deleteBlobs } from "../platform/blobs/delete-blobs.ts";
import { purgeAuditEntries } from "../stores/audit/audit-log.ts";
import type { Database, Db } from "../stores/db.ts";
import { purgeIdempotencyKeys } from "../stores/http/idempotency.ts";
import { purgeDatasets } from "../stores/evals/datasets.ts";
import { purgeExperiments, purgeMonitoredRuns } from "../stores/evals/eval-purge.ts";
import { purgeMonitors } from "../stores/evals/monitors.ts";
import { purgeExpiredTokens } from "../stores/accounts/oauth-tokens.ts";
import { purgeProviderSignIns } from "../stores/accounts/provider-sign-ins.ts";
import { purgeSessions } from "../stores/accounts/sessions.ts";
import { purgeEvents } from "../stores/webhooks/outbox.ts";
import { purgeDraftSteps } from "../stores/projects/drafts.ts";
import { purgeFrozenDrafts } from "../stores/projects/flow-versions.ts";
import { purgeRateLimits } from "../stores/http/rate-limits.ts";
import { purgeFirings } from "../stores/triggers/firings.ts";
import { purgeActionRuns } from "../stores/providers/action-runs.ts";
import { purgeDeliveries } from "../stores/webhooks/deliveries.ts";
import { claimJob, releaseJob } from "../stores/system/blob-sweep.ts";
import { purgeDeltas } from "../stores/runs/run-deltas.ts";
import { purgeTurns } from "../stores/models/conversations.ts";
import { purgeVisitors } from "../stores/pages/visitors.ts";
import { purgeReservations } from "../stores/models/spending.ts";
import { purgeNodePlaces } from "../stores/runs/node-places.ts";
import { purgeRunJobs } from "../stores/runs/run-jobs.ts";
import { dropPartition, makePartition } from "../stores/runs/run-partitions.ts";
import { purgeRemovedRuns, purgeRuns } from "../stores/runs/run-retention.ts";
import { MIN_BLOB_AGE_MS, sweepBlobs } from "./system/sweep-blobs.ts";
import { eachRoundRobin, periodically } from "../platform/periodically.ts";
import type { Periodic } from "../platform/periodically.ts";

/** Longest interval (ms); short enough, since a pass is some twenty transactions that mostly find nothing. */
const MAX_EVERY_MS = 300_000;
/**
 * Retention of action runs (ms). Longer than any run may take, because a kept action run prevents a second call of the
 * same action.
 */
const ACTION_RETENTION_MS = 31 * 24 * 3_600_000;
/** Retention of jobs on runs (ms). */
const JOB_RETENTION_MS = 31 * 24 * 3_600_000;
const BATCH = 1000;
/** Runs purged per statement; few, because each may have thousands of rows. */
const RUNS_AT_ONCE = 100;
/** Retention of live texts (ms), longer than a client's interruption of a run's event stream. */
const DELTA_RETENTION_MS = 600_000;
const SWEEP_EVERY_MS = 86_400_000;
/**
 * The name was changed when partitions were introduced, because an older process may still claim the old name and does
 * not search partitions.
 */
const BLOB_SWEEP = "sweep of unreferenced blobs";

export interface HousekeepingOptions {
  /** How often housekeeping runs (ms); at least every five minutes. */
  readonly everyMs: number;
  /** How long deliveries are kept (ms). Their events are kept at least as long. */
  readonly eventRetentionMs: number;
  /** How long runs are kept after their end, unless a policy sets a shorter time. Undefined means forever. */
  readonly runRetentionDays: number | undefined;
  /** How long entries of the audit log are kept. Undefined means forever. */
  readonly auditRetentionDays: number | undefined;
  /** How long the samples of monitors are kept. */
  readonly monitorRetentionDays: number;
  /** Called after a sweep with the number of blobs that nothing referred to. */
  readonly onSwept: (removed: number) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Purges expired data: responses kept for Idempotency-Keys, tokens, sessions, counts of rate limits, old events,
 * deleted datasets, experiments and monitors, old steps of drafts, visitors of pages who stay away, live texts of finished runs, old runs, and once a
 * day unreferenced blobs. A part that fails is reported and does not stop the others. Any number of processes may run
 * it.
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
  /**
   * Purges in small batches, one statement each, until a batch is not full, because a busy installation fills several
   * batches between two passes.
   */
  const inBatches =
    (purge: (connection: Db) => Promise<number>, batch = BATCH) =>
    async (isClosed: () => boolean): Promise<void> => {
      while (!isClosed() && (await db.system(purge)) === batch);
    };
  const kept = runRetentionDays ?? null;
  const parts: ReadonlyArray<(isClosed: () => boolean) => Promise<void>> = [
    async (isClosed) => {
      for (let removed = BATCH; removed === BATCH && !isClosed();) {
        const purged = await db.system((connection) => purgeIdempotencyKeys(connection, BATCH));
        removed = purged.removed;
        await deleteBlobs(blobs, purged.blobs);
      }
    },
    inBatches((connection) => purgeExpiredTokens(connection, BATCH)),
    inBatches((connection) => purgeSessions(connection, BATCH)),
    inBatches((connection) => purgeProviderSignIns(connection, BATCH)),
    inBatches((connection) => purgeRateLimits(connection, BATCH)),
    inBatches((connection) => purgeReservations(connection, BATCH)),
    inBatches((connection) => purgeNodePlaces(connection, BATCH)),
    inBatches((connection) => purgeDeliveries(connection, eventRetentionMs, BATCH)),
    inBatches((connection) => purgeFirings(connection, eventRetentionMs, BATCH)),
    inBatches((connection) => purgeEvents(connection, eventRetentionMs, BATCH)),
    inBatches((connection) => purgeExperiments(connection, BATCH)),
    inBatches((connection) => purgeDatasets(connection, BATCH)),
    inBatches((connection) => purgeMonitoredRuns(connection, BATCH)),
    inBatches((connection) => purgeMonitors(connection, monitorRetentionDays, BATCH)),
    inBatches((connection) => purgeDraftSteps(connection, BATCH)),
    inBatches((connection) => purgeActionRuns(connection, ACTION_RETENTION_MS, BATCH)),
    inBatches((connection) => purgeRunJobs(connection, JOB_RETENTION_MS, BATCH)),
    inBatches((connection) => purgeDeltas(connection, DELTA_RETENTION_MS, RUNS_AT_ONCE), RUNS_AT_ONCE),
    async (isClosed) => {
      while (!isClosed() && (await db.system((connection) => makePartition(connection, kept))));
    },
    // Partitions are dropped before runs are purged, because deleting their rows one by one would take the longest.
    async (isClosed) => {
      while (!isClosed() && (await db.system((connection) => dropPartition(connection, kept))));
    },
    inBatches((connection) => purgeRuns(connection, kept, RUNS_AT_ONCE), RUNS_AT_ONCE),
    inBatches((connection) => purgeFrozenDrafts(connection, BATCH)),
    inBatches((connection) => purgeTurns(connection, kept, BATCH)),
    inBatches((connection) => purgeVisitors(connection, VISITOR_DAYS, BATCH)),
    // Purged after the events, jobs and responses that name these runs.
    inBatches((connection) => purgeRemovedRuns(connection, Math.max(JOB_RETENTION_MS, eventRetentionMs), BATCH)),
    auditRetentionDays === undefined
      ? async () => undefined
      : inBatches((connection) => purgeAuditEntries(connection, auditRetentionDays, BATCH)),
    async (isClosed) => {
      if (!(await db.system((connection) => claimJob(connection, BLOB_SWEEP, SWEEP_EVERY_MS)))) return;
      const removed = await sweepBlobs({ db, blobs, isClosed }, new Date(Date.now() - MIN_BLOB_AGE_MS));
      if (removed === null) await db.system((connection) => releaseJob(connection, BLOB_SWEEP, SWEEP_EVERY_MS));
      else onSwept(removed);
    },
  ];
  return periodically(
    Math.min(everyMs, MAX_EVERY_MS),
    (isClosed) => eachRoundRobin(parts, (part) => part(isClosed), { isClosed, onError }),
    onError,
  );
}
