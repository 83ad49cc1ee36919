import { createBlobUsage } from "../../platform/blobs/blob-usage.ts";
import type { Metrics } from "../../platform/metrics.ts";
import type { Database } from "../../stores/db.ts";
import { countLiveRunsByState } from "../../stores/runs/run-gauges.ts";
import { countStuckRuns } from "../../stores/runs/stuck-runs.ts";
import { countBacklog } from "../../stores/webhooks/backlog.ts";
import type { Deployment } from "../../temporal/deployments.ts";
import type { QueueStats } from "../../temporal/queues.ts";

/** How often a process counts runs and asks Temporal at most, however often its metrics are read (ms). */
const RUNS_MAX_AGE_MS = 10_000;
const QUEUES_MAX_AGE_MS = 15_000;
const EVENTS_MAX_AGE_MS = 5000;

export interface GaugeDeps {
  readonly db: Database;
  readonly metrics: Metrics;
  /** Undefined if blobs are not in a directory: S3 counts its own. */
  readonly blobDir: string | undefined;
  readonly describeQueues: () => Promise<QueueStats[]>;
  readonly deployment: Pick<Deployment, "countStranded"> | undefined;
  readonly onError: (error: unknown, message: string) => void;
}

/**
 * Adds the state of the whole installation to a process's metrics: runs, task queues, database connections, blobs.
 * They are read on each scrape; a part that does not answer has no samples then.
 */
export function addGauges({ db, metrics, blobDir, describeQueues, deployment, onError }: GaugeDeps): void {
  metrics.gauges(
    {
      millrace_runs: { help: "Runs that have not ended, by state", labels: ["state"] },
      millrace_oldest_run_age_seconds: {
        help: "How long the oldest run of a state has been due (PENDING), paused (PAUSED) or under way",
        labels: ["state"],
      },
    },
    {
      maxAgeMs: RUNS_MAX_AGE_MS,
      onError: (error) => onError(error, "runs could not be counted"),
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
        help: "Runs under way whose workflow does not get on: Temporal repeats a step of it in vain",
        labels: [],
      },
    },
    {
      maxAgeMs: RUNS_MAX_AGE_MS,
      onError: (error) => onError(error, "stuck runs could not be counted"),
      read: async () => [{ name: "millrace_runs_stuck", labels: {}, value: (await db.system(countStuckRuns)).live }],
    },
  );
  metrics.gauges(
    {
      millrace_outbox_lag_seconds: { help: "Age of the oldest outbox row that is not relayed", labels: [] },
      millrace_outbox_pending: { help: "Outbox rows that are not relayed", labels: [] },
      millrace_webhook_deliveries_waiting: {
        help: "Deliveries that wait for their first attempt (pending) or for another one (retrying)",
        labels: ["status"],
      },
      millrace_webhook_subscriptions: {
        help: "Subscriptions whose attempts fail (failing), or that were disabled because of it (disabled)",
        labels: ["status"],
      },
    },
    {
      maxAgeMs: EVENTS_MAX_AGE_MS,
      onError: (error) => onError(error, "events and deliveries could not be counted"),
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
      onError(error, "workflows whose build has no workers could not be counted");
      return [];
    }
  };
  metrics.gauges(
    {
      millrace_task_queue_pollers: { help: "Worker processes that poll a task queue", labels: ofQueue },
      millrace_task_queue_backlog: { help: "Tasks that wait for a worker", labels: ofQueue },
      millrace_task_queue_backlog_age_seconds: { help: "How long the oldest waiting task has waited", labels: ofQueue },
      millrace_workflows_stranded: { help: "Workflows under way on a build whose workers are gone", labels: [] },
    },
    {
      maxAgeMs: QUEUES_MAX_AGE_MS,
      onError: (error) => onError(error, "Temporal did not tell how its task queues stand"),
      async read() {
        // Shared, so that Temporal is asked only once for the queues.
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
      millrace_database_connections: { help: "Open connections to Postgres, idle ones included", labels: ["pool"] },
      millrace_database_connections_busy: { help: "Connections that execute something", labels: ["pool"] },
      millrace_database_connections_limit: { help: "Connections the pool may open", labels: ["pool"] },
      millrace_database_waiting: { help: "Callers that wait for a connection", labels: ["pool"] },
    },
    {
      maxAgeMs: 0,
      onError: (error) => onError(error, "the database pool"),
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
      millrace_blob_bytes: { help: "Bytes in the blob store, as last counted", labels: [] },
      millrace_blob_free_bytes: { help: "Bytes left on the file system of the blob store", labels: [] },
    },
    {
      maxAgeMs: RUNS_MAX_AGE_MS,
      onError: (error) => onError(error, "the blob store could not be measured"),
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
