import { z } from "zod";
import { unknownSettings } from "./domain/unknown-settings.ts";
import {
  bearer,
  blobPlace,
  bool,
  COMMAND_LINE_SETTINGS,
  databaseAddress,
  int,
  list,
  LOG_LEVELS,
  masterKey,
  monitorSettings,
  origin,
  pemFile,
  privateHosts,
  proxyRanges,
  quotaSettings,
  readEnvironment,
  replicaSettings,
  s3Settings,
  signInSettings,
  someText,
  temporalName,
  traceSettings,
  WEB_ADDRESS,
  workerQueues,
} from "./config-values.ts";
import { knowledgeSettings, modelSettings, webhookSettings } from "./config-capabilities.ts";

const MIB = 1024 * 1024;

/** Also read by the command line, which creates keys in the database. */
export const secretKeyDays = int(0, 36_500)
  .default(0)
  .describe("Days until a new secret key without expires_at expires; 0 means never");

/** Every environment variable that Millrace reads. The table in docs/configuration.md is checked against it. */
export const environmentSchema = z.object({
  DATABASE_URL: databaseAddress.describe(
    "Postgres connection string; a file named by `password_file=/path` in it is read again for each connection",
  ),
  DATABASE_POOL_SIZE: int(2, 200)
    .default(10)
    .describe(
      "Database connections a process uses for the work of organisations; with searches and other work it opens up to 7/3 of this number, plus three",
    ),
  ...replicaSettings,
  TEMPORAL_ADDRESS: someText.default("127.0.0.1:7233").describe("host:port of the Temporal frontend"),
  TEMPORAL_NAMESPACE: someText.default("default").describe("Temporal namespace"),
  TEMPORAL_API_KEY: someText
    .optional()
    .describe("API key sent to Temporal as bearer token (Temporal Cloud); also turns TLS on"),
  TEMPORAL_TLS: bool.default(false).describe("TLS to Temporal; any of the three files below also turns it on"),
  TEMPORAL_TLS_CA_FILE: pemFile
    .optional()
    .describe("PEM file of the certificate authorities that sign Temporal's certificate"),
  TEMPORAL_TLS_CERT_FILE: pemFile.optional().describe("PEM file of the client certificate, for mTLS"),
  TEMPORAL_TLS_KEY_FILE: pemFile.optional().describe("PEM file of the client certificate's private key"),
  TEMPORAL_TLS_SERVER_NAME: someText
    .optional()
    .describe("Server name in Temporal's certificate, if it differs from TEMPORAL_ADDRESS"),
  MILLRACE_TASK_QUEUE: temporalName
    .default("millrace")
    .describe("Prefix of the task queue names; lets several installations share a namespace"),
  MILLRACE_DEPLOYMENT: temporalName
    .optional()
    .describe("Name of this installation's worker deployment in Temporal; runs stay on the build that started them"),
  MILLRACE_BUILD_ID: temporalName.optional().describe("Build ID of this process within that deployment"),
  HOST: z.string().default("0.0.0.0").describe("Address that the api and the worker's health server listen on"),
  PORT: int(0, 65535).default(8080).describe("Port of the api; 0 picks a free port"),
  MILLRACE_PUBLIC_URL: z
    .url({ error: WEB_ADDRESS })
    .optional()
    .describe("URL that clients use; absolute links are built only from it, never from the Host header"),
  MILLRACE_BLOB_URL: blobPlace
    .prefault("./.millrace/blobs")
    .describe(
      "Blob store: a directory or file:///directory that api and workers share, or s3://bucket/prefix?endpoint=https://host:port&region=name",
    ),
  ...s3Settings,
  LOG_LEVEL: z
    .enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(", ")}` })
    .default("info")
    .describe("Minimum level of log lines: fatal, error, warn, info, debug, trace or silent"),
  MILLRACE_API_WORKER: bool
    .default(true)
    .describe("Whether the api process also executes run workflows (eager start, which lowers latency)"),
  MILLRACE_WORKER_PORT: int(0, 65535)
    .optional()
    .describe(
      "Port of the worker's own /healthz, /readyz and /metrics; 0 picks a free port; unset, the worker serves none of them",
    ),
  MILLRACE_METRICS_PORT: int(0, 65535)
    .optional()
    .describe(
      "Port of the api's /metrics, /healthz and /readyz; 0 picks a free port; if neither it nor MILLRACE_METRICS_TOKEN is set, the api serves no metrics",
    ),
  MILLRACE_METRICS_TOKEN: bearer
    .optional()
    .describe(
      "Bearer token that every /metrics endpoint requires; the api's public port serves /metrics only if it is set",
    ),
  MILLRACE_METRICS_PROJECTS: bool
    .default(false)
    .describe("Whether metrics are labelled with project IDs; leave it off where tenants can read the metrics"),
  MILLRACE_WORKER_QUEUES: workerQueues
    .default(["runs", "nodes", "ingest", "background", "webhooks", "house"])
    .describe("Task queues that this worker polls; each queue needs at least one worker"),
  MILLRACE_WORKER_ACTIVITIES: int(1, 2000)
    .default(400)
    .describe("Maximum node activities per worker at a time; one organisation gets at most half"),
  MILLRACE_CHAINS: bool
    .default(true)
    .describe("Whether one activity executes several slow nodes in sequence; see docs/internals.md"),
  MILLRACE_WORKER_CACHED_WORKFLOWS: int(0, 10_000)
    .default(500)
    .describe("Workflows a worker keeps in memory; 0 replays every step and is meant for tests"),
  ...traceSettings,
  MILLRACE_PRIVATE_HOSTS: privateHosts
    .default([])
    .describe(
      "Hosts, host:port pairs or CIDR ranges that outbound requests may reach although their addresses are private",
    ),
  ...signInSettings,
  MILLRACE_TRUSTED_PROXIES: proxyRanges
    .default([])
    .describe("CIDR ranges of the proxies whose X-Forwarded-For header is trusted"),
  MILLRACE_CORS: bool
    .default(true)
    .describe("Whether web pages of other origins may call the operations that public keys may call (CORS)"),
  MILLRACE_SECRET_KEY_DAYS: secretKeyDays,
  MILLRACE_RATE_LIMIT: int(1, 1_000_000)
    .optional()
    .describe("Requests per minute for each credential; unset is unlimited"),
  MILLRACE_MAX_NESTED_RUNS: int(1, 1_000_000)
    .default(200)
    .describe(
      "Maximum unfinished runs that one run may start by actions or API calls, directly or indirectly; more return 429",
    ),
  ...quotaSettings,
  MILLRACE_HOOK_RATE_LIMIT: int(1, 1_000_000).default(600).describe("Requests per minute for each inbound webhook URL"),
  MILLRACE_PAGE_RATE_LIMIT: int(1, 1_000_000)
    .default(1200)
    .describe("Requests per minute from one network to published pages, counted in each api process"),
  MILLRACE_MIN_SCHEDULE_SECONDS: int(1, 60)
    .default(10)
    .describe("Shortest interval between two runs of a schedule, in seconds"),
  MILLRACE_MAX_TRIGGERS: int(0, 1_000_000).default(20_000).describe("Maximum number of triggers of an organisation"),
  MILLRACE_JSON_LIMIT_BYTES: int(1024, 512 * MIB)
    .default(10 * MIB)
    .describe("Maximum size of a JSON body, in bytes"),
  MILLRACE_RUN_BODY_LIMIT_BYTES: int(1024, 512 * MIB)
    .default(40 * MIB)
    .describe("Maximum size of a request body that carries a run's inputs, in bytes"),
  MILLRACE_UPLOAD_LIMIT_BYTES: int(1024, 4096 * MIB)
    .default(100 * MIB)
    .describe("Maximum size of an uploaded document, in bytes"),
  MILLRACE_INPUT_LIMIT_BYTES: int(1024, 512 * MIB)
    .default(25 * MIB)
    .describe("Maximum size of one input of a run after decoding, in bytes"),
  MILLRACE_MAX_NODES: int(1, 10_000)
    .default(1000)
    .describe("Maximum number of nodes in a flow, including nested flows"),
  MILLRACE_MAX_ITERATIONS: int(1, 1_000_000)
    .default(10_000)
    .describe("Maximum number of map and loop iterations in a run"),
  MILLRACE_SYNC_WAIT_MS: int(0, 600_000)
    .default(110_000)
    .describe("Longest time an inference request waits for its run to finish"),
  MILLRACE_STREAM_KEEP_ALIVE_MS: int(50, 600_000)
    .default(15_000)
    .describe(
      "Interval of keep-alive messages on a quiet stream; keep it below the idle timeout of every proxy in front",
    ),
  MILLRACE_RUN_TIMEOUT_SECONDS: int(1, 2_592_000)
    .default(86_400)
    .describe("Time limit of a run that sets no timeout_seconds of its own"),
  MILLRACE_MAX_RUN_TIMEOUT_SECONDS: int(1, 2_592_000)
    .default(2_592_000)
    .describe("Largest timeout_seconds that a run may set"),
  MILLRACE_SWEEP_INTERVAL_MS: int(50, 600_000)
    .default(5000)
    .describe("Interval at which the sweeper looks for runs to start, signal again or finalise"),
  MILLRACE_SCHEDULE_CHECK_MS: int(100, 86_400_000)
    .default(300_000)
    .describe(
      "Interval at which Temporal's schedules are compared with the triggers, syncs, monitors and purges that need them",
    ),
  MILLRACE_STUCK_AFTER_MS: int(100, 3_600_000)
    .default(60_000)
    .describe("Time without progress after which a run is compared with its workflow in Temporal"),
  MILLRACE_STUCK_ATTEMPTS: int(2, 1000)
    .default(5)
    .describe("Consecutive workflow task timeouts before a run fails as `stuck`; failed tasks count half"),
  MILLRACE_MASTER_KEY: list
    .pipe(z.array(masterKey).min(1))
    .optional()
    .describe(
      "Encrypts stored secrets: base64 of 32 bytes, the same in every process; earlier keys follow after commas. Unset, a key is created in the blob directory; required if blobs are in S3",
    ),
  MILLRACE_PAYLOAD_ENCRYPTION: z
    .enum(["on", "read"], { error: "must be on or read" })
    .default("on")
    .describe(
      "Whether data in Temporal is encrypted; `read` decrypts but does not encrypt, for the first step of an upgrade",
    ),
  MILLRACE_SEAL_BLOBS: z
    .enum(["off", "read", "on"], { error: "must be off, read or on" })
    .default("off")
    .describe("Whether blobs are encrypted; with `read`, encrypted blobs stay readable and new ones are not encrypted"),
  MILLRACE_CODEC_TOKEN: bearer
    .optional()
    .describe("Bearer token with which Temporal's UI and command line may decrypt and encrypt all payloads"),
  MILLRACE_TEMPORAL_UI_ORIGIN: origin
    .optional()
    .describe("Origin of Temporal's UI (https://temporal.example.com), whose pages may request decrypted payloads"),
  ...modelSettings,
  ...knowledgeSettings,
  ...webhookSettings,
  MILLRACE_RUN_RETENTION_DAYS: int(1, 36_500)
    .optional()
    .describe(
      "Days to keep a run after it finishes, with its nodes, events and values; from 28 days, runs are deleted weekly; unset keeps runs forever",
    ),
  MILLRACE_ERASURE_QUIET_MS: int(0, 600_000)
    .default(10_000)
    .describe(
      "Time without new data of the user after which an erasure completes; cancelled calls notice within this time",
    ),
  ...monitorSettings,
  MILLRACE_AUDIT_RETENTION_DAYS: int(1, 36_500)
    .optional()
    .describe("Days to keep audit log entries; unset keeps them forever"),
  MILLRACE_MONITOR_RETENTION_DAYS: int(1, 36_500)
    .default(90)
    .describe("Days to keep a monitor's samples and statistics"),
  MILLRACE_DRAIN_MS: int(0, 600_000)
    .default(5000)
    .describe(
      "Time that a stopping api keeps serving while /readyz returns 503, so that load balancers stop sending requests",
    ),
  MILLRACE_SHUTDOWN_GRACE_MS: int(0, 600_000)
    .default(15_000)
    .describe("Time a stopping process gives its current work to finish"),
});

/** A function that reads the settings of a schema from the environment. It throws an Error that lists every problem. */
const reader =
  <Schema extends z.ZodObject>(schema: Schema) =>
  (environment: NodeJS.ProcessEnv = process.env): Readonly<z.infer<Schema>> =>
    readEnvironment(schema, environment);

export const loadConfig = reader(environmentSchema);
export type Config = ReturnType<typeof loadConfig>;

/** Reads only the settings of the master keys, for the command line, which may run without the others. */
export const loadSealingConfig = reader(environmentSchema.pick({ MILLRACE_BLOB_URL: true, MILLRACE_MASTER_KEY: true }));

/** Reads only the settings of blobs and backups. */
export const loadBackupConfig = reader(environmentSchema.pick({ MILLRACE_BLOB_URL: true }).extend(s3Settings));
export type BackupConfig = ReturnType<typeof loadBackupConfig>;

/** Migrations do not use S3, so their process may run without keys and without a role. */
export const loadMigrationConfig = reader(
  environmentSchema.omit({ MILLRACE_S3_ACCESS_KEY_ID: true, MILLRACE_S3_SECRET_ACCESS_KEY: true }),
);

/** A message for each variable that looks like a setting but is not one, for example because its name is mistyped. */
export function mistakenSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  return unknownSettings(environment, [...Object.keys(environmentSchema.shape), ...COMMAND_LINE_SETTINGS]);
}

/** Reads the environment for a process that cannot run without it: prints the problems, without a stack, and ends the process. */
export function requireConfig<Part>(load: () => Part): Part {
  try {
    return load();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write([message, ...mistakenSettings().map((each) => `  ${each}`), ""].join("\n"));
    process.exit(1);
  }
}
