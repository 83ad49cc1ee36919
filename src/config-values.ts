import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseBlobPlace, type BlobPlace } from "./platform/blobs/blob-place.ts";
import { identityProviders } from "./domain/accounts/identity-providers.ts";
import { createAddressPolicy } from "./platform/fetch/address-policy.ts";

// Parsers of environment variables. Their errors say what is expected.

export const bool = z
  .enum(["true", "false", "1", "0"], { error: "must be true or false" })
  .transform((value) => value === "true" || value === "1");
export const int = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
};
const dollars = z.coerce
  .number({ error: "must be a number of dollars above 0" })
  .positive({ error: "must be a number of dollars above 0" });
export const WEB_ADDRESS = "must be a URL, such as https://millrace.example.com";
export const httpAddress = z.url({ protocol: /^https?$/, error: WEB_ADDRESS });
export const someText = z.string().min(1);
export const bearer = z.string().min(16, "must have at least 16 characters");
export const list = z.string().transform((value) =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);
/** Temporal joins two of these names with a dot or a colon, and queries quote them. */
export const temporalName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, - and _");
export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
/** Up to fifty durations in ms. */
export const delays = list
  .refine((items) => items.length > 0 && items.length <= 50 && items.every((item) => /^\d{1,10}$/.test(item)), {
    error: "must be 1 to 50 whole numbers, separated by commas",
  })
  .transform((items) => items.map(Number));
/** Entries that the policy of outbound addresses can read. */
export const privateHosts = list.superRefine((items, ctx) => {
  try {
    createAddressPolicy(items);
  } catch (error) {
    ctx.addIssue({ code: "custom", message: (error as Error).message });
  }
});
export const proxyRanges = list.pipe(
  z.array(
    z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
      error: ({ input }) => `"${String(input)}" is neither an IP address nor a CIDR range such as 10.0.0.0/8`,
    }),
  ),
);
export const blobPlace = z.string().transform((text, ctx) => {
  try {
    return parseBlobPlace(text);
  } catch (error) {
    ctx.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
});
/** An origin in the form that a browser sends. */
export const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    "must be an origin, such as https://temporal.example.com",
  );
/** Base64 of 32 bytes. */
export const masterKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, "must be base64 of 32 bytes (openssl rand -base64 32)");

/** A URL of Postgres. Its driver would take any other text for the name of a database. */
export const databaseAddress = z
  .string({ error: "required: set it to postgres://user:password@host:5432/database" })
  .refine(isDatabaseAddress, "must look like postgres://user:password@host:5432/database");

function isDatabaseAddress(text: string): boolean {
  if (text.startsWith("/")) return true;
  // The driver allows an empty host, for Unix sockets.
  return (
    /^(postgres(ql)?:\/\/|socket:)/.test(text) &&
    [text, text.replace("@/", "@host/")].some((each) => URL.canParse(each))
  );
}

/** Settings of the server that lists are read from. */
export const replicaSettings = {
  DATABASE_REPLICA_URL: databaseAddress
    .optional()
    .describe("Connection string of a streaming replica, from which lists, statistics and exports are read"),
  MILLRACE_REPLICA_MAX_LAG_MS: int(100, 60_000)
    .default(1000)
    .describe("Largest lag of the replica; if it is further behind, the primary is read"),
};

/** Quotas of organisations that have none of their own. */
export const quotaSettings = {
  MILLRACE_MAX_CONCURRENT_RUNS: int(1, 1_000_000)
    .optional()
    .describe(
      "Unfinished runs of an organisation at one time, including paused runs but not child runs or runs of experiments; unset is unlimited",
    ),
  MILLRACE_QUOTA_RUNS_PER_MINUTE: int(1, 1_000_000)
    .optional()
    .describe("Runs per minute of an organisation without its own quota; unset is unlimited"),
  MILLRACE_QUOTA_CONCURRENT_NODES: int(1, 1_000_000)
    .optional()
    .describe(
      "Nodes that workers execute at the same time for an organisation without its own quota; unset is unlimited",
    ),
  MILLRACE_QUOTA_STORAGE_BYTES: int(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Bytes of stored files of an organisation without its own quota; unset is unlimited"),
  MILLRACE_QUOTA_MODEL_USD_MONTH: dollars
    .optional()
    .describe("US dollars per month that models may cost an organisation without its own quota; unset is unlimited"),
};

const WORKER_QUEUES = ["runs", "nodes", "ingest", "background", "webhooks", "house"] as const;
/** Types of work queues, each at most once. */
export const workerQueues = list
  .pipe(z.array(z.enum(WORKER_QUEUES, { error: `must be some of ${WORKER_QUEUES.join(", ")}, separated by commas` })))
  .refine((queues) => queues.length > 0 && new Set(queues).size === queues.length, {
    error: `must be some of ${WORKER_QUEUES.join(", ")}, each at most once`,
  });
/** A file that can be read when the process starts. */
export const pemFile = z.string().transform((path, ctx) => {
  try {
    const text = readFileSync(path);
    if (text.includes("-----BEGIN ")) return text;
    ctx.addIssue({ code: "custom", message: `${path} is not a PEM file` });
  } catch (error) {
    ctx.addIssue({ code: "custom", message: `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? ""}` });
  }
  return z.NEVER;
});

/** Names and values of headers, as OpenTelemetry writes them: `name=value,name=value`, percent-encoded. */
const headerList = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const pairs = text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    return at < 1 ? undefined : [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
  });
  if (pairs.every((pair) => pair?.[1] !== undefined)) return Object.fromEntries(pairs as [string, string][]);
  context.addIssue({ code: "custom", message: "must be name=value pairs, separated by commas" });
  return z.NEVER;
});

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Where traces are sent, and which. */
export const traceSettings = {
  MILLRACE_OTLP_ENDPOINT: httpAddress
    .optional()
    .describe("URL of an OTLP/HTTP collector for traces (http://collector:4318); unset, no traces are recorded"),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpAddress
    .optional()
    .describe("OpenTelemetry's own name for the same setting, used if the one above is unset"),
  OTEL_EXPORTER_OTLP_HEADERS: headerList
    .optional()
    .describe("Headers of requests to the collector, as `name=value,name=value`, percent-encoded"),
  MILLRACE_TRACE_RATIO: z.coerce
    .number({ error: "must be a number from 0 to 1" })
    .min(0)
    .max(1)
    .default(1)
    .describe("Share of traces to record, 0 to 1, if the caller's traceparent does not decide it"),
  MILLRACE_TRACE_PROPAGATION: bool
    .default(true)
    .describe("Whether requests of nodes, models and webhooks carry a traceparent header while traces are recorded"),
  MILLRACE_TRACE_CONTENT: bool
    .default(false)
    .describe("Whether spans of model calls contain prompts and answers; never for flows that redact values"),
  OTEL_BSP_MAX_QUEUE_SIZE: int(1, 1_000_000)
    .default(8192)
    .describe("Maximum number of spans a process keeps until they are sent; more are dropped and counted"),
  OTEL_BSP_SCHEDULE_DELAY: int(1, 3_600_000)
    .default(1000)
    .describe("Time between two batches of spans sent to the collector (ms)"),
};

const REGION = /^[a-z0-9-]{1,50}$/;

/** The identity for S3: configured keys, or the settings that Kubernetes and similar systems give to a process. */
export const s3Settings = {
  MILLRACE_S3_ACCESS_KEY_ID: someText
    .optional()
    .describe("S3 access key ID for the blob store; if unset, the AWS role below is used"),
  MILLRACE_S3_SECRET_ACCESS_KEY: someText.optional().describe("S3 secret access key for the blob store"),
  MILLRACE_BACKUP_S3_ACCESS_KEY_ID: someText
    .optional()
    .describe(
      "S3 access key ID for `backup` and `restore` with a backup in a bucket; if unset, MILLRACE_S3_ACCESS_KEY_ID",
    ),
  MILLRACE_BACKUP_S3_SECRET_ACCESS_KEY: someText.optional().describe("S3 secret access key for `backup` and `restore`"),
  AWS_ROLE_ARN: someText.optional().describe("AWS role to assume by web identity if no key is set"),
  AWS_WEB_IDENTITY_TOKEN_FILE: someText
    .optional()
    .describe("File with the web identity token, read again for each use; EKS sets both variables"),
  AWS_ROLE_SESSION_NAME: z
    .string()
    .regex(/^[\w+=,.@-]{2,64}$/, "must be 2 to 64 letters, digits and _ + = , . @ -")
    .optional()
    .describe("Session name shown in Amazon's logs; unset, `millrace`"),
  AWS_REGION: z
    .string()
    .regex(REGION, "must be the name of a region, such as eu-central-1")
    .optional()
    .describe("Region whose STS issues the role's credentials; unset, the region of the bucket"),
  AWS_ENDPOINT_URL_STS: httpAddress
    .optional()
    .describe("URL of another STS: a compatible server, or a private endpoint"),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: httpAddress
    .optional()
    .describe("URL that issues credentials if neither keys nor a web identity are set; EKS Pod Identity sets it"),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: someText
    .optional()
    .describe("File with the token sent to that URL, read again for each use"),
};

/** A JSON list of identity providers, or the path of a file with one. Their secrets may be in files of their own. */
const providerList = z
  .string()
  .transform((text, context): unknown => {
    try {
      const json: unknown = JSON.parse(text.trimStart().startsWith("[") ? text : readFileSync(text, "utf8"));
      return Array.isArray(json) ? json.map(withSecret) : json;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const reason =
        code === undefined ? "must be a JSON list of identity providers" : `a file cannot be read: ${code}`;
      context.addIssue({ code: "custom", message: reason });
      return z.NEVER;
    }
  })
  .pipe(identityProviders);

/** Adds the text of the provider's `client_secret_file`, without the line end. */
function withSecret(provider: unknown): unknown {
  const { client_secret_file, ...rest } = Object(provider) as Record<string, unknown>;
  if (typeof client_secret_file !== "string") return provider;
  return { client_secret: readFileSync(client_secret_file, "utf8").replace(/\r?\n$/, ""), ...rest };
}

/** How people sign in to the console. */
export const signInSettings = {
  MILLRACE_OIDC_PROVIDERS: providerList
    .default([])
    .describe("Identity providers for sign-in, as JSON or as the path of a JSON file; see sign-in.md"),
  MILLRACE_PASSWORD_SIGN_IN: bool
    .default(true)
    .describe(
      "Whether users may sign in with a password, in the console and at /token; can be false only if an identity provider is set",
    ),
};

/** Limits on how much evals may observe. */
export const monitorSettings = {
  MILLRACE_MAX_MONITORS: int(0, 10_000).default(20).describe("Maximum number of eval monitors of an organisation"),
  MILLRACE_MAX_MONITOR_EVALUATORS: int(1, 50).default(10).describe("Maximum number of evaluators of a monitor"),
  MILLRACE_MONITOR_RUNS_PER_HOUR: int(1, 100_000)
    .default(1000)
    .describe("Maximum number of runs a monitor may score in an hour; the upper limit of its max_per_hour"),
  MILLRACE_MONITOR_MIN_WINDOW_SECONDS: int(1, 86_400)
    .default(300)
    .describe("Shortest time window of a monitor's alert"),
  MILLRACE_MONITOR_INTERVAL_SECONDS: int(1, 3600)
    .default(60)
    .describe("Interval at which a monitor scores its samples and checks its alert"),
};

/** What the command line reads in addition to the server's settings: which API it calls, and with which credential. */
export const COMMAND_LINE_SETTINGS = ["MILLRACE_URL", "MILLRACE_API_KEY", "MILLRACE_ORG_ID"] as const;

/** Reads the settings of a schema. An empty variable counts as unset. Throws an Error that lists every problem. */
export function readEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
): z.infer<Schema> {
  const known = Object.fromEntries(
    Object.keys(schema.shape).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
  const result = schema.safeParse(known);
  const problems = result.success
    ? [
        ...missingForS3(result.data, Object.keys(schema.shape)),
        ...missingOfPairs(result.data),
        ...missingForSignIn(result.data),
      ]
    : [...new Set(result.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`))];
  if (result.success && problems.length === 0) return result.data;
  throw new Error(`The configuration is not valid:\n${problems.join("\n")}`);
}

/** The missing settings if blobs are in S3: keys or a role, and a master key, which is only created automatically in a directory. */
function missingForS3(values: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  if ((values["MILLRACE_BLOB_URL"] as BlobPlace | undefined)?.kind !== "s3") return [];
  const missing = (name: string): boolean => names.includes(name) && values[name] === undefined;
  const needed = "required because MILLRACE_BLOB_URL is s3://";
  const keys = ["MILLRACE_S3_ACCESS_KEY_ID", "MILLRACE_S3_SECRET_ACCESS_KEY"];
  const role =
    values["AWS_CONTAINER_CREDENTIALS_FULL_URI"] !== undefined ||
    !["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"].some(missing);
  const lacking = role && keys.every(missing) ? [] : keys.filter(missing);
  return [
    ...lacking.map((name) => `  ${name}: ${needed}, unless AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE are set`),
    ...["MILLRACE_MASTER_KEY"].filter(missing).map((name) => `  ${name}: ${needed}`),
  ];
}

/** Settings that have no effect without each other. */
const PAIRS = [
  ["TEMPORAL_TLS_CERT_FILE", "TEMPORAL_TLS_KEY_FILE"],
  ["MILLRACE_DEPLOYMENT", "MILLRACE_BUILD_ID"],
] as const;

function missingOfPairs(values: Readonly<Record<string, unknown>>): string[] {
  return PAIRS.filter(([one, other]) => (values[one] === undefined) !== (values[other] === undefined)).map(
    ([one, other]) => `  ${values[one] === undefined ? one : other}: ${one} and ${other} must be set together`,
  );
}

/** Without passwords and without a provider no one could sign in. */
function missingForSignIn(values: Readonly<Record<string, unknown>>): string[] {
  const providers = values["MILLRACE_OIDC_PROVIDERS"];
  if (values["MILLRACE_PASSWORD_SIGN_IN"] !== false || (Array.isArray(providers) && providers.length > 0)) return [];
  return ["  MILLRACE_PASSWORD_SIGN_IN: can be false only if MILLRACE_OIDC_PROVIDERS names a provider"];
}
