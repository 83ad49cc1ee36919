import { createBlobUsage } from "../../platform/blobs/blob-usage.ts";
import type { GaugeSample, GaugeSource, Metrics } from "../../platform/metrics.ts";
import type { Database } from "../../stores/db.ts";
import { countLiveRunsByState, countStuckRuns } from "../../stores/runs/stuck-runs.ts";
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

/** The gauges of a group, with their help and labels. */
type Gauges = Readonly<Record<string, readonly [help: string, ...labels: string[]]>>;

const sample = (name: string, value: number, labels: GaugeSample["labels"] = {}): GaugeSample => ({
  name,
  labels,
  value,
});

/**
 * Adds the state of the whole installation to a process's metrics: runs, task queues, database connections, blobs. They
 * are read on each scrape; a part that does not respond has no samples in it.
 */
export function addGauges({ db, metrics, blobDir, describeQueues, deployment, onError }: GaugeDeps): void {
  const add = (gauges: Gauges, maxAgeMs: number, failure: string, read: GaugeSource["read"]): void => {
    const texts = Object.entries(gauges).map(([name, [help, ...labels]]) => [name, { help, labels }] as const);
    metrics.gauges(Object.fromEntries(texts), { maxAgeMs, onError: (error) => onError(error, failure), read });
  };
  add(
    {
      millrace_runs: ["Unfinished runs, by state", "state"],
      millrace_oldest_run_age_seconds: [
        "Age of the oldest run in a state: since it became due (PENDING), was paused (PAUSED) or started",
        "state",
      ],
    },
    RUNS_MAX_AGE_MS,
    "could not count runs",
    async () => {
      const rows = await db.system(countLiveRunsByState);
      return ["PENDING", "RUNNING", "PAUSED", "RESUMED"].flatMap((state) => {
        const { runs = 0, oldest_seconds = 0 } = rows.find((each) => each.state === state) ?? {};
        return [
          sample("millrace_runs", runs, { state }),
          sample("millrace_oldest_run_age_seconds", oldest_seconds ?? 0, { state }),
        ];
      });
    },
  );
  add(
    {
      millrace_runs_stuck: ["Unfinished runs whose workflow is stuck (Temporal keeps retrying the same step)"],
    },
    RUNS_MAX_AGE_MS,
    "could not count runs with a stuck workflow",
    async () => [sample("millrace_runs_stuck", (await db.system(countStuckRuns)).live)],
  );
  add(
    {
      millrace_outbox_lag_seconds: ["Age of the oldest event in the outbox without deliveries"],
      millrace_outbox_pending: ["Events in the outbox without deliveries"],
      millrace_webhook_deliveries_waiting: [
        "Webhook deliveries waiting for their first attempt (pending) or a retry (retrying)",
        "status",
      ],
      millrace_webhook_subscriptions: [
        "Webhooks with failing attempts (failing), or disabled because of them (disabled)",
        "status",
      ],
    },
    EVENTS_MAX_AGE_MS,
    "could not count events and deliveries",
    async () => {
      const { events, events_age_seconds, ...byStatus } = await db.system(countBacklog);
      const ofStatus = (name: string, status: keyof typeof byStatus) => sample(name, byStatus[status], { status });
      return [
        sample("millrace_outbox_lag_seconds", events_age_seconds),
        sample("millrace_outbox_pending", events),
        ofStatus("millrace_webhook_deliveries_waiting", "pending"),
        ofStatus("millrace_webhook_deliveries_waiting", "retrying"),
        ofStatus("millrace_webhook_subscriptions", "failing"),
        ofStatus("millrace_webhook_subscriptions", "disabled"),
      ];
    },
  );
  const countStranded = async (queues: readonly QueueStats[]): Promise<GaugeSample[]> => {
    try {
      return [sample("millrace_workflows_stranded", (await deployment?.countStranded(queues)) ?? 0)];
    } catch (error) {
      onError(error, "could not count workflows whose build has no workers");
      return [];
    }
  };
  add(
    {
      millrace_task_queue_pollers: ["Worker processes that poll a task queue", "queue", "type"],
      millrace_task_queue_backlog: ["Tasks waiting for a worker", "queue", "type"],
      millrace_task_queue_backlog_age_seconds: ["Age of the oldest waiting task", "queue", "type"],
      millrace_workflows_stranded: ["Running workflows on a build without workers"],
    },
    QUEUES_MAX_AGE_MS,
    "Temporal did not return the state of its task queues",
    async () => {
      // Read once here for several gauges, so that Temporal is asked only once.
      const queues = await describeQueues();
      const stranded = await countStranded(queues);
      const ofQueues = queues.flatMap(({ queue, type, ...stats }) =>
        (["pollers", "backlog", "backlog_age_seconds"] as const).flatMap((name) => {
          const value = stats[name];
          return value === null ? [] : [sample(`millrace_task_queue_${name}`, value, { queue, type })];
        }),
      );
      return [...ofQueues, ...stranded];
    },
  );
  add(
    {
      millrace_database_connections: ["Open connections to Postgres, including idle ones", "pool"],
      millrace_database_connections_busy: ["Connections that are executing a statement", "pool"],
      millrace_database_connections_limit: ["Maximum number of connections in the pool", "pool"],
      millrace_database_waiting: ["Requests waiting for a database connection", "pool"],
    },
    0,
    "could not read the database pools",
    async () =>
      db
        .pools()
        .flatMap(({ pool, open, idle, limit, waiting }) => [
          sample("millrace_database_connections", open, { pool }),
          sample("millrace_database_connections_busy", open - idle, { pool }),
          sample("millrace_database_connections_limit", limit, { pool }),
          sample("millrace_database_waiting", waiting, { pool }),
        ]),
  );
  if (blobDir === undefined) return;
  const blobs = createBlobUsage(blobDir);
  add(
    {
      millrace_blob_bytes: ["Bytes in the blob store at the last count"],
      millrace_blob_free_bytes: ["Free bytes on the file system of the blob store"],
    },
    RUNS_MAX_AGE_MS,
    "could not measure the blob store",
    async () => {
      const { used, free } = await blobs();
      return [
        ...(used === null ? [] : [sample("millrace_blob_bytes", used)]),
        sample("millrace_blob_free_bytes", free),
      ];
    },
  );
}
