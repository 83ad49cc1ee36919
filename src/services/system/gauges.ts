import { createBlobUsage } from "../../platform/blobs/blob-usage.ts";
import type { Metrics } from "../../platform/metrics.ts";
import type { Database } from "../../stores/db.ts";
import { countLiveRunsByState } from "../../stores/runs/run-gauges.ts";
import { countStuckRuns } from "../../stores/runs/stuck-runs.ts";
import { countBacklog } from "../../stores/webhooks/backlog.ts";
import type { Deployment } from "../../temporal/deployments.ts";
import type { QueueStats } from "../../temporal/queues.ts";

/** A process counts runs and asks Temporal at most once in this time, however often its metrics are read (ms). */
const RUNS_MAX_AGE_MS = 10_000;
const QUEUES_MAX_AGE_MS = 15_000;
const EVENTS_MAX_AGE_MS = 5000;

export interface GaugeDeps {
  readonly db: Database;
  readonly metrics: Metrics;
  /** Undefined if blobs are not in a directory, since S3 has its own metrics. */
  readonly blobDir: string | undefined;
  readonly describeQueues: () => Promise<QueueStats[]>;
  readonly deployment: Pick<Deployment, "countStranded"> | undefined;
  readonly onError: (error: unknown, message: string) => void;
}

/**
 * Adds the state of the whole installation to a process's metrics: runs, task queues, database connections, blobs. They
 * are read on each scrape; a part that does not respond has no samples in it.
 */
export function addGauges({ db, metrics, blobDir, describeQueues, deployment, onError }: GaugeDeps): void {
  metrics.gauges(
    {
      millrace_runs: { help: "Unfinished runs, by state", labels: ["state"] },
      millrace_oldest_run_age_seconds: {
        help: "Age of the oldest run in a state: since it became due (PENDING), was paused (PAUSED) or started",
        labels: ["state"],
      },
    },
    {
      maxAgeMs: RUNS_MAX_AGE_MS,
      onError: (error) => onError(error, "could not count runs"),
      async read() {
        const rows = await db.system(countLiveRunsByState);
        return ["PENDING", "RUNNING", "PAUSED", "RESUMED"].flatMap((state) => {
          const row = rows.find((each) => each.state === state);
          return [
            { name: "millrace_runs", labels: { state }, value: row?.runs ?? 0 },
            { name: "millrace_oldest_run_age_seconds", labels: { state }, value: row?.oldest_seconds ?? 0 },
          ];
        });
      },
    },
  );
  metrics.gauges(
    {
      millrace_runs_stuck: {
        help: "Unfinished runs whose workflow is stuck (Temporal keeps retrying the same step)",
        labels: [],
      },
    },
    {
      maxAgeMs: RUNS_MAX_AGE_MS,
      onError: (error) => onError(error, "could not count runs with a stuck workflow"),
      read: async () => [{ name: "millrace_runs_stuck", labels: {}, value: (await db.system(countStuckRuns)).live }],
    },
  );
  metrics.gauges(
    {
      millrace_outbox_lag_seconds: { help: "Age of the oldest event in the outbox without deliveries", labels: [] },
      millrace_outbox_pending: { help: "Events in the outbox without deliveries", labels: [] },
      millrace_webhook_deliveries_waiting: {
        help: "Webhook deliveries waiting for their first attempt (pending) or a retry (retrying)",
        labels: ["status"],
      },
      millrace_webhook_subscriptions: {
        help: "Webhooks with failing attempts (failing), or disabled because of them (disabled)",
        labels: ["status"],
      },
    },
    {
      maxAgeMs: EVENTS_MAX_AGE_MS,
      onError: (error) => onError(error, "could not count events and deliveries"),
      async read() {
        const { events, events_age_seconds, ...byStatus } = await db.system(countBacklog);
        const ofStatus = (name: string, status: "pending" | "retrying" | "failing" | "disabled") => ({
          name,
          labels: { status },
          value: byStatus[status],
        });
        return [
          { name: "millrace_outbox_lag_seconds", labels: {}, value: events_age_seconds },
          { name: "millrace_outbox_pending", labels: {}, value: events },
          ofStatus("millrace_webhook_deliveries_waiting", "pending"),
          ofStatus("millrace_webhook_deliveries_waiting", "retrying"),
          ofStatus("millrace_webhook_subscriptions", "failing"),
          ofStatus("millrace_webhook_subscriptions", "disabled"),
        ];
      },
    },
  );
  const ofQueue = ["queue", "type"];
  const countStranded = async (queues: readonly QueueStats[]) => {
    try {
      const value = (await deployment?.countStranded(queues)) ?? 0;
      return [{ name: "millrace_workflows_stranded", labels: {}, value }];
    } catch (error) {
      onError(error, "could not count workflows whose build has no workers");
      return [];
    }
  };
  metrics.gauges(
    {
      millrace_task_queue_pollers: { help: "Worker processes that poll a task queue", labels: ofQueue },
      millrace_task_queue_backlog: { help: "Tasks waiting for a worker", labels: ofQueue },
      millrace_task_queue_backlog_age_seconds: { help: "Age of the oldest waiting task", labels: ofQueue },
      millrace_workflows_stranded: { help: "Running workflows on a build without workers", labels: [] },
    },
    {
      maxAgeMs: QUEUES_MAX_AGE_MS,
      onError: (error) => onError(error, "Temporal did not return the state of its task queues"),
      async read() {
        // Read once here for several gauges, so that Temporal is asked only once.
        const queues = await describeQueues();
        const stranded = await countStranded(queues);
        const ofQueues = queues.flatMap(({ queue, type, pollers, backlog, backlog_age_seconds }) => {
          const sample = (name: string, value: number | null) =>
            value === null ? [] : [{ name: `millrace_task_queue_${name}`, labels: { queue, type }, value }];
          return [
            ...sample("pollers", pollers),
            ...sample("backlog", backlog),
            ...sample("backlog_age_seconds", backlog_age_seconds),
          ];
        });
        return [...ofQueues, ...stranded];
      },
    },
  );
  metrics.gauges(
    {
      millrace_database_connections: { help: "Open connections to Postgres, including idle ones", labels: ["pool"] },
      millrace_database_connections_busy: { help: "Connections that are executing a statement", labels: ["pool"] },
      millrace_database_connections_limit: { help: "Maximum number of connections in the pool", labels: ["pool"] },
      millrace_database_waiting: { help: "Requests waiting for a database connection", labels: ["pool"] },
    },
    {
      maxAgeMs: 0,
      onError: (error) => onError(error, "could not read the database pools"),
      read: async () =>
        db.pools().flatMap(({ pool, open, idle, limit, waiting }) => [
          { name: "millrace_database_connections", labels: { pool }, value: open },
          { name: "millrace_database_connections_busy", labels: { pool }, value: open - idle },
          { name: "millrace_database_connections_limit", labels: { pool }, value: limit },
          { name: "millrace_database_waiting", labels: { pool }, value: waiting },
        ]),
    },
  );
  if (blobDir === undefined) return;
  const blobs = createBlobUsage(blobDir);
  metrics.gauges(
    {
      millrace_blob_bytes: { help: "Bytes in the blob store at the last count", labels: [] },
      millrace_blob_free_bytes: { help: "Free bytes on the file system of the blob store", labels: [] },
    },
    {
      maxAgeMs: RUNS_MAX_AGE_MS,
      onError: (error) => onError(error, "could not measure the blob store"),
      async read() {
        const { used, free } = await blobs();
        return [
          ...(used === null ? [] : [{ name: "millrace_blob_bytes", labels: {}, value: used }]),
          { name: "millrace_blob_free_bytes", labels: {}, value: free },
        ];
      },
    },
  );
}
