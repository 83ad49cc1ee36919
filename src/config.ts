import { z } from "zod";
import { unknownSettings } from "./domain/unknown-settings.ts";
import { DEFAULT_WEBHOOK_SCHEDULE_MS } from "./domain/webhooks/webhook.ts";
import {
  bearer,
  blobPlace,
  bool,
  COMMAND_LINE_SETTINGS,
  databaseAddress,
  delays,
  httpAddress,
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

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** Also read by the command line, which makes keys in the database. */
export const secretKeyDays = int(0, 36_500)
  .default(0)
  .describe("Days after which a new secret key ends that names no expires_at; 0 is never");

/** Every environment variable the service reads. The table in docs/configuration.md is checked against it. */
export const environmentSchema = z.object({
  DATABASE_URL: databaseAddress.describe("Postgres connection string; `password_file=/path` in it is read anew"),
  DATABASE_POOL_SIZE: int(2, 200).default(10).describe("Connections each process may open"),
  ...replicaSettings,
  TEMPORAL_ADDRESS: someText.default("127.0.0.1:7233").describe("host:port of the Temporal frontend"),
  TEMPORAL_NAMESPACE: someText.default("default").describe("Temporal namespace"),
  TEMPORAL_API_KEY: someText
    .optional()
    .describe("Sent as bearer credential to Temporal (Temporal Cloud); also switches TLS on"),
  TEMPORAL_TLS: bool.default(false).describe("TLS to Temporal; any of the three files below switches it on, too"),
  TEMPORAL_TLS_CA_FILE: pemFile.optional().describe("PEM file of the authorities that sign Temporal's certificate"),
  TEMPORAL_TLS_CERT_FILE: pemFile.optional().describe("PEM file of our own certificate, for mTLS"),
  TEMPORAL_TLS_KEY_FILE: pemFile.optional().describe("PEM file of its private key"),
  TEMPORAL_TLS_SERVER_NAME: someText
    .optional()
    .describe("The name in Temporal's certificate, where TEMPORAL_ADDRESS has another one"),
  MILLRACE_TASK_QUEUE: temporalName
    .default("millrace")
    .describe("Prefix of the task queues, so that several installations can share a namespace"),
  MILLRACE_DEPLOYMENT: temporalName
    .optional()
    .describe("Name of this installation's worker deployment in Temporal; runs stay on the build they began on"),
  MILLRACE_BUILD_ID: temporalName.optional().describe("The build that a process of that deployment executes"),
  HOST: z.string().default("0.0.0.0").describe("Address the api and the worker's health server listen on"),
  PORT: int(0, 65535).default(8080).describe("Port of the api; 0 chooses a free one"),
  MILLRACE_PUBLIC_URL: z
    .url({ error: WEB_ADDRESS })
    .optional()
    .describe("The address clients use; the only source of absolute links (never the Host header)"),
  MILLRACE_BLOB_URL: blobPlace
    .prefault("./.millrace/blobs")
    .describe(
      "Where blobs are: a directory or file:///directory that api and workers share, or s3://bucket/prefix?endpoint=https://host:port&region=name",
    ),
  ...s3Settings,
  LOG_LEVEL: z
    .enum(LOG_LEVELS, { error: `one of ${LOG_LEVELS.join(", ")} is expected` })
    .default("info")
    .describe("fatal, error, warn, info, debug, trace or silent"),
  MILLRACE_API_WORKER: bool
    .default(true)
    .describe("Whether the api process also executes run workflows (eager start: lower latency)"),
  MILLRACE_WORKER_PORT: int(0, 65535)
    .optional()
    .describe("Port of the worker's own /healthz, /readyz and /metrics; 0 chooses a free one, unset serves none"),
  MILLRACE_METRICS_PORT: int(0, 65535)
    .optional()
    .describe(
      "Port of the api's /metrics, with /healthz and /readyz; 0 chooses a free one. Unset, and with no token, the api serves no metrics",
    ),
  MILLRACE_METRICS_TOKEN: bearer
    .optional()
    .describe(
      "Bearer credential that /metrics asks for wherever it is served; the api's public port serves it only then",
    ),
  MILLRACE_METRICS_PROJECTS: bool
    .default(false)
    .describe("Whether metrics tell projects apart, by their ids: not where tenants could read them"),
  MILLRACE_WORKER_QUEUES: workerQueues
    .default(["runs", "nodes", "ingest", "background", "webhooks"])
    .describe("Task queues that a worker takes work from. Over all workers, each of them needs one"),
  MILLRACE_WORKER_ACTIVITIES: int(1, 2000)
    .default(400)
    .describe(
      "Activities of nodes a worker has under way at once, most of them waiting for an answer; of one organisation half",
    ),
  MILLRACE_WORKER_CACHED_WORKFLOWS: int(0, 10_000)
    .default(500)
    .describe("Workflows a worker keeps in memory. 0 replays every step: a test setting"),
  ...traceSettings,
  MILLRACE_PRIVATE_HOSTS: privateHosts
    .default([])
    .describe("Hosts, host:port pairs or CIDR ranges that outbound requests may reach although they are private"),
  ...signInSettings,
  MILLRACE_TRUSTED_PROXIES: proxyRanges
    .default([])
    .describe("CIDR ranges of the proxies whose X-Forwarded-For is believed"),
  MILLRACE_CORS: bool.default(true).describe("Whether web pages of other origins may call what a public key may call"),
  MILLRACE_SECRET_KEY_DAYS: secretKeyDays,
  MILLRACE_RATE_LIMIT: int(1, 1_000_000).optional().describe("Requests a minute per credential; unset is unlimited"),
  MILLRACE_MAX_NESTED_RUNS: int(1, 1_000_000)
    .default(200)
    .describe("Runs under way that one run may have led to, by actions or by calls of this API; beyond that 429"),
  ...quotaSettings,
  MILLRACE_HOOK_RATE_LIMIT: int(1, 1_000_000)
    .default(600)
    .describe("Requests a minute that the address of an inbound webhook takes"),
  MILLRACE_MIN_SCHEDULE_SECONDS: int(1, 60).default(10).describe("Shortest time between two runs of a schedule"),
  MILLRACE_MAX_TRIGGERS: int(0, 1_000_000).default(20_000).describe("Triggers that an organisation may have"),
  MILLRACE_JSON_LIMIT_BYTES: int(1024, 512 * MIB)
    .default(10 * MIB)
    .describe("Longest JSON body"),
  MILLRACE_RUN_BODY_LIMIT_BYTES: int(1024, 512 * MIB)
    .default(40 * MIB)
    .describe("Body limit of the operations that carry a run's inputs"),
  MILLRACE_UPLOAD_LIMIT_BYTES: int(1024, 4096 * MIB)
    .default(100 * MIB)
    .describe("Longest uploaded document"),
  MILLRACE_INPUT_LIMIT_BYTES: int(1024, 512 * MIB)
    .default(25 * MIB)
    .describe("One input of a run, after decoding"),
  MILLRACE_MAX_NODES: int(1, 10_000).default(1000).describe("Nodes of a flow, nested ones included"),
  MILLRACE_MAX_ITERATIONS: int(1, 1_000_000).default(10_000).describe("Iterations of the maps and loops of a run"),
  MILLRACE_SYNC_WAIT_MS: int(0, 600_000)
    .default(110_000)
    .describe("Longest time an inference request waits for its run"),
  MILLRACE_STREAM_KEEP_ALIVE_MS: int(50, 600_000)
    .default(15_000)
    .describe("How often something is sent on a quiet stream; less than the idle time limit of any proxy before it"),
  MILLRACE_RUN_TIMEOUT_SECONDS: int(1, 2_592_000).default(86_400).describe("Time limit of a run that names none"),
  MILLRACE_MAX_RUN_TIMEOUT_SECONDS: int(1, 2_592_000).default(2_592_000).describe("Longest time limit a run may have"),
  MILLRACE_SWEEP_INTERVAL_MS: int(50, 600_000)
    .default(5000)
    .describe("How often sweeper and reconciler look for runs to start, signal again or settle"),
  MILLRACE_SCHEDULE_CHECK_MS: int(100, 86_400_000)
    .default(300_000)
    .describe("How often Temporal's schedules are compared with the triggers, syncs and monitors that want them"),
  MILLRACE_STUCK_AFTER_MS: int(100, 3_600_000)
    .default(60_000)
    .describe("Age from which a run without progress is compared with Temporal's own view"),
  MILLRACE_STUCK_ATTEMPTS: int(2, 1000)
    .default(5)
    .describe(
      "Workflow tasks of a run that time out in a row before the run is FAILED as stuck; twice as many for tasks that fail",
    ),
  MILLRACE_MASTER_KEY: list
    .pipe(z.array(masterKey).min(1))
    .optional()
    .describe(
      "Encrypts stored secrets: base64 of 32 bytes, the same in every process; earlier ones after a comma. Unset, a key is made in the directory of the blobs; with blobs in S3 it has to be set",
    ),
  MILLRACE_PAYLOAD_ENCRYPTION: z
    .enum(["on", "read"], { error: "on or read is expected" })
    .default("on")
    .describe("Whether what Temporal keeps is encrypted; `read` only decrypts: for the first step of an upgrade"),
  MILLRACE_SEAL_BLOBS: z
    .enum(["off", "read", "on"], { error: "off, read or on is expected" })
    .default("off")
    .describe("Whether blobs are encrypted; `read`: encrypted blobs stay readable, new ones are not encrypted"),
  MILLRACE_CODEC_TOKEN: bearer
    .optional()
    .describe("Bearer credential that Temporal's UI and command line decrypt and encrypt all payloads with"),
  MILLRACE_TEMPORAL_UI_ORIGIN: origin
    .optional()
    .describe("Origin of Temporal's UI (https://temporal.example.com), whose pages may ask for decrypted payloads"),
  MILLRACE_MODEL_URL: httpAddress
    .optional()
    .describe(
      "An OpenAI-compatible endpoint up to its version (http://localhost:11434/v1), for model nodes without a connection",
    ),
  MILLRACE_MODEL_KEY: someText.optional().describe("Its bearer credential"),
  MILLRACE_MODEL: someText.optional().describe("The model that nodes without one use there"),
  MILLRACE_MODEL_PRICES_FILE: someText
    .optional()
    .describe("JSON file of prices of models that takes precedence over the built-in ones: see models.md"),
  MILLRACE_EMBEDDING_MODEL_DIR: someText
    .optional()
    .describe("Folder of the local embedding model's files; unset, what `npm run model:fetch` has put into ~/.cache"),
  MILLRACE_OCR_DATA_DIR: someText
    .optional()
    .describe("Folder of the language data for character recognition; unset, that of the optional package"),
  MILLRACE_EMBEDDINGS_URL: httpAddress
    .optional()
    .describe("An OpenAI-compatible embeddings endpoint (.../v1/embeddings) for embedding models other than `local`"),
  MILLRACE_EMBEDDINGS_API_KEY: someText.optional().describe("Its bearer credential"),
  MILLRACE_EMBEDDINGS_PER_MINUTE: int(1, 1_000_000)
    .optional()
    .describe("Requests to it a process begins a minute; unset is unlimited"),
  MILLRACE_EMBEDDINGS_ATTEMPTS: int(1, 10_000)
    .default(100)
    .describe(
      "Attempts to index a document, half a minute apart, after which a model that does not answer is its error",
    ),
  MILLRACE_RERANK_URL: httpAddress
    .optional()
    .describe(
      "A rerank endpoint in the shape of Cohere's and Jina's (.../v1/rerank), used by queries of knowledge bases",
    ),
  MILLRACE_RERANK_API_KEY: someText.optional().describe("Its bearer credential"),
  MILLRACE_RERANK_MODEL: someText.default("rerank-v3.5").describe("The model it is asked for"),
  MILLRACE_VECTOR_CACHE_MIB: int(16, 65_536)
    .default(512)
    .describe("Memory each process keeps vectors of knowledge bases in; a quarter of it more for words"),
  MILLRACE_SYNC_MAX_PAGES: int(1, 1_000_000)
    .default(100_000)
    .describe("Documents that the sources of one knowledge base may list"),
  MILLRACE_SITE_DELAY_MS: int(0, 60_000)
    .default(250)
    .describe("Time between two requests of a sync to one site, where its robots.txt does not ask for more"),
  MILLRACE_WEBHOOK_SCHEDULE_MS: delays
    .default([...DEFAULT_WEBHOOK_SCHEDULE_MS])
    .describe("Delay before each attempt to deliver an event, from the failure of the one before it"),
  MILLRACE_WEBHOOK_TIMEOUT_MS: int(10, 120_000).default(15_000).describe("Time a webhook's receiver has to answer"),
  MILLRACE_WEBHOOK_CONCURRENCY: int(1, 1000)
    .default(20)
    .describe("Deliveries to one subscription that a worker has under way at once"),
  MILLRACE_WEBHOOK_SLOTS: int(2, 10_000)
    .default(400)
    .describe(
      "Webhook deliveries that a worker has in flight; one organisation, and failing subscriptions, get at most half",
    ),
  MILLRACE_WEBHOOK_SHARDS: int(1, 64)
    .default(4)
    .describe("Parts into which deliveries are divided by subscription; each is made by one worker at a time"),
  MILLRACE_WEBHOOK_POLL_MS: int(2000, 60_000)
    .default(5000)
    .describe("How often a worker polls for events and deliveries without a notification"),
  MILLRACE_WEBHOOK_SECRET_GRACE_MS: int(0, 30 * DAY_MS)
    .default(DAY_MS)
    .describe("Time after a rotation during which deliveries are signed with the old secret as well"),
  MILLRACE_WEBHOOK_DISABLE_AFTER_MS: int(0, 30 * DAY_MS)
    .default(DAY_MS)
    .describe("A subscription is disabled when every attempt has failed for this long,"),
  MILLRACE_WEBHOOK_DISABLE_ATTEMPTS: int(1, 100_000).default(20).describe("and there were at least so many attempts"),
  MILLRACE_EVENT_RETENTION_MS: int(1000, 365 * DAY_MS)
    .default(30 * DAY_MS)
    .describe("How long events and their deliveries are kept, for replays"),
  MILLRACE_RUN_RETENTION_DAYS: int(1, 36_500)
    .optional()
    .describe(
      "Days after its end that a run is kept with its nodes, events and values; from 28 on, removed by the week; unset, for ever",
    ),
  MILLRACE_ERASURE_QUIET_MS: int(0, 600_000)
    .default(10_000)
    .describe("Time without anything more of the user after which an erasure ends; cancelled calls notice within it"),
  ...monitorSettings,
  MILLRACE_AUDIT_RETENTION_DAYS: int(1, 36_500).optional().describe("Days that the audit log is kept; unset, for ever"),
  MILLRACE_MONITOR_RETENTION_DAYS: int(1, 36_500)
    .default(90)
    .describe("Days that a monitor's samples and statistics are kept"),
  MILLRACE_SHUTDOWN_GRACE_MS: int(0, 600_000)
    .default(15_000)
    .describe("Time a stopping process gives to what it is doing"),
});

export type Config = Readonly<z.infer<typeof environmentSchema>>;

/** What says where the master keys are. */
const sealingSchema = environmentSchema.pick({ MILLRACE_BLOB_URL: true, MILLRACE_MASTER_KEY: true });

export type SealingConfig = Readonly<z.infer<typeof sealingSchema>>;

/** What says where blobs and backups are. */
const backupSchema = environmentSchema.pick({ MILLRACE_BLOB_URL: true }).extend(s3Settings);

export type BackupConfig = Readonly<z.infer<typeof backupSchema>>;

/** The same of blobs and backups alone. */
export function loadBackupConfig(environment: NodeJS.ProcessEnv = process.env): BackupConfig {
  return readEnvironment(backupSchema, environment);
}

/** Reads the environment once. Throws an Error that lists every problem. */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  return readEnvironment(environmentSchema, environment);
}

/** A sentence for each variable that looks like a setting and is none, as where a name is mistyped. */
export function mistakenSettings(environment: NodeJS.ProcessEnv = process.env): string[] {
  return unknownSettings(environment, [...Object.keys(environmentSchema.shape), ...COMMAND_LINE_SETTINGS]);
}

/** Migrations ask S3 for nothing: their process may run where it has neither keys nor a role. */
const migrationSchema = environmentSchema.omit({
  MILLRACE_S3_ACCESS_KEY_ID: true,
  MILLRACE_S3_SECRET_ACCESS_KEY: true,
});

type MigrationConfig = Readonly<z.infer<typeof migrationSchema>>;

export function loadMigrationConfig(environment: NodeJS.ProcessEnv = process.env): MigrationConfig {
  return readEnvironment(migrationSchema, environment);
}

/** The same for a process that is nothing without it: prints the problems alone, with no stack, and ends the process. */
export function requireConfig<Part>(load: () => Part): Part {
  try {
    return load();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write([message, ...mistakenSettings().map((each) => `  ${each}`), ""].join("\n"));
    process.exit(1);
  }
}

/** The same of the master keys alone, for the command line: nothing else has to be set where it runs. */
export function loadSealingConfig(environment: NodeJS.ProcessEnv = process.env): SealingConfig {
  return readEnvironment(sealingSchema, environment);
}
