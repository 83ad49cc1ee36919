import { readFileSync } from "node:fs";
import { z } from "zod";
import { parseBlobPlace } from "./platform/blobs/blob-place.ts";
import type { BlobPlace } from "./platform/blobs/blob-place.ts";
import { identityProviders } from "./domain/accounts/identity-providers.ts";
import { createAddressPolicy } from "./platform/fetch/address-policy.ts";

// What the text of an environment variable may be. A problem says what is expected.

export const bool = z
  .enum(["true", "false", "1", "0"], { error: "true or false is expected" })
  .transform((value) => value === "true" || value === "1");
export const int = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max} is expected`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
};
const dollars = z.coerce
  .number({ error: "a number of dollars above 0 is expected" })
  .positive({ error: "a number of dollars above 0 is expected" });
export const WEB_ADDRESS = "a web address is expected, such as https://millrace.example.com";
export const httpAddress = z.url({ protocol: /^https?$/, error: WEB_ADDRESS });
export const someText = z.string().min(1);
export const bearer = z.string().min(16, "at least 16 characters are expected");
export const list = z.string().transform((value) =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);
/** Temporal joins two with a dot or a colon, and queries quote them. */
export const temporalName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "up to 64 letters, digits, - and _ are expected");
export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
/** Up to fifty times in ms. */
export const delays = list
  .refine((items) => items.length > 0 && items.length <= 50 && items.every((item) => /^\d{1,10}$/.test(item)), {
    error: "1 to 50 whole numbers with commas between are expected",
  })
  .transform((items) => items.map(Number));
/** What the policy of outbound addresses can read. */
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
      error: ({ input }) => `"${String(input)}" is neither an address nor a CIDR range such as 10.0.0.0/8`,
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
/** As a browser sends it. */
export const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    "an origin is expected, such as https://temporal.example.com",
  );
/** Base64 of 32 bytes. */
export const masterKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, "base64 of 32 bytes is expected (openssl rand -base64 32)");

/** Of Postgres. Its driver would take any other text for the name of a database somewhere. */
export const databaseAddress = z
  .string({ error: "it has to be set, as postgres://user:password@host:5432/database" })
  .refine(isDatabaseAddress, "write it as postgres://user:password@host:5432/database");

function isDatabaseAddress(text: string): boolean {
  if (text.startsWith("/")) return true;
  // The driver allows an empty host, for sockets.
  return (
    /^(postgres(ql)?:\/\/|socket:)/.test(text) &&
    [text, text.replace("@/", "@host/")].some((each) => URL.canParse(each))
  );
}

/** Of the server that lists are read from. */
export const replicaSettings = {
  DATABASE_REPLICA_URL: databaseAddress
    .optional()
    .describe("A streaming replica of it, from which lists, statistics and exports are read"),
  MILLRACE_REPLICA_MAX_LAG_MS: int(100, 60_000).default(1000).describe("How far behind the replica may be to be read"),
};

/** What an organisation may use that has no quotas of its own. */
export const quotaSettings = {
  MILLRACE_MAX_CONCURRENT_RUNS: int(1, 1_000_000)
    .optional()
    .describe("Runs an organisation may have under way at once; unset is unlimited"),
  MILLRACE_QUOTA_RUNS_PER_MINUTE: int(1, 1_000_000)
    .optional()
    .describe("Runs a minute of an organisation that has no quota of its own; unset is unlimited"),
  MILLRACE_QUOTA_CONCURRENT_NODES: int(1, 1_000_000)
    .optional()
    .describe("Nodes that workers execute at once for such an organisation; unset is unlimited"),
  MILLRACE_QUOTA_STORAGE_BYTES: int(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Bytes of files that such an organisation may have stored; unset is unlimited"),
  MILLRACE_QUOTA_MODEL_USD_MONTH: dollars
    .optional()
    .describe("US dollars a month that models may cost such an organisation; unset is unlimited"),
};

const WORKER_QUEUES = ["runs", "nodes", "ingest", "background", "webhooks"] as const;
/** Kinds of work, each once. */
export const workerQueues = list
  .pipe(
    z.array(z.enum(WORKER_QUEUES, { error: `some of ${WORKER_QUEUES.join(", ")} are expected, with commas between` })),
  )
  .refine((queues) => queues.length > 0 && new Set(queues).size === queues.length, {
    error: `some of ${WORKER_QUEUES.join(", ")} are expected, each once`,
  });
/** A file that can be read, when the process starts. */
export const pemFile = z.string().transform((path, ctx) => {
  try {
    const text = readFileSync(path);
    if (text.includes("-----BEGIN ")) return text;
    ctx.addIssue({ code: "custom", message: `${path} is no PEM file` });
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
  context.addIssue({ code: "custom", message: "name=value pairs, separated by commas, are expected" });
  return z.NEVER;
});

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Where traces go, and which. */
export const traceSettings = {
  MILLRACE_OTLP_ENDPOINT: httpAddress
    .optional()
    .describe("OTLP/HTTP address of a collector that gets traces (http://collector:4318); unset, none are made"),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpAddress
    .optional()
    .describe("The same by OpenTelemetry's own name, where the one above is not set"),
  OTEL_EXPORTER_OTLP_HEADERS: headerList
    .optional()
    .describe("Headers of requests to the collector, as `name=value,name=value`, percent-encoded"),
  MILLRACE_TRACE_RATIO: z.coerce
    .number({ error: "a number from 0 to 1 is expected" })
    .min(0)
    .max(1)
    .default(1)
    .describe("Share of the traces that is recorded, 0 to 1, where the caller's traceparent does not say"),
  MILLRACE_TRACE_PROPAGATION: bool
    .default(true)
    .describe("Whether requests of nodes, models and webhooks carry a traceparent header, where traces are made"),
  MILLRACE_TRACE_CONTENT: bool
    .default(false)
    .describe("Whether spans of models have what was asked and answered; never for flows that redact something"),
  OTEL_BSP_MAX_QUEUE_SIZE: int(1, 1_000_000)
    .default(8192)
    .describe("Spans that wait in a process at most; more are dropped and counted"),
  OTEL_BSP_SCHEDULE_DELAY: int(1, 3_600_000)
    .default(1000)
    .describe("How long a span waits for others before it is sent (ms)"),
};

const REGION = /^[a-z0-9-]{1,50}$/;

/** As whom S3 is asked: keys of our own, or the settings that Kubernetes and the like give a process. */
export const s3Settings = {
  MILLRACE_S3_ACCESS_KEY_ID: someText
    .optional()
    .describe("What S3 knows us by, where blobs are there; unset, the role that the AWS settings below name"),
  MILLRACE_S3_SECRET_ACCESS_KEY: someText.optional().describe("Its secret"),
  MILLRACE_BACKUP_S3_ACCESS_KEY_ID: someText
    .optional()
    .describe("What S3 knows `backup` and `restore` by, for a backup in a bucket; unset, MILLRACE_S3_ACCESS_KEY_ID"),
  MILLRACE_BACKUP_S3_SECRET_ACCESS_KEY: someText.optional().describe("Its secret"),
  AWS_ROLE_ARN: someText.optional().describe("Role that is assumed by web identity, where no key is set"),
  AWS_WEB_IDENTITY_TOKEN_FILE: someText
    .optional()
    .describe("File of the token that it is assumed with, read anew each time; EKS sets both"),
  AWS_ROLE_SESSION_NAME: z
    .string()
    .regex(/^[\w+=,.@-]{2,64}$/, "2 to 64 letters, digits and _ + = , . @ - are expected")
    .optional()
    .describe("Name of the session in Amazon's logs; unset, `millrace`"),
  AWS_REGION: z
    .string()
    .regex(REGION, "the name of a region is expected, such as eu-central-1")
    .optional()
    .describe("Region whose STS is asked for credentials of the role; unset, the bucket's"),
  AWS_ENDPOINT_URL_STS: httpAddress
    .optional()
    .describe("Another address of STS: of a server that speaks its protocol, or a private one"),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: httpAddress
    .optional()
    .describe(
      "Where credentials are asked for, where neither keys nor a web identity are set; EKS Pod Identity sets it",
    ),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: someText
    .optional()
    .describe("File of the token that is sent there, read anew each time"),
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
        code === undefined ? "a JSON list of identity providers is expected" : `a file cannot be read: ${code}`;
      context.addIssue({ code: "custom", message: reason });
      return z.NEVER;
    }
  })
  .pipe(identityProviders);

/** The same with the text of its `client_secret_file`, without the line's end. */
function withSecret(provider: unknown): unknown {
  const { client_secret_file, ...rest } = Object(provider) as Record<string, unknown>;
  if (typeof client_secret_file !== "string") return provider;
  return { client_secret: readFileSync(client_secret_file, "utf8").replace(/\r?\n$/, ""), ...rest };
}

/** How people sign in to the console. */
export const signInSettings = {
  MILLRACE_OIDC_PROVIDERS: providerList
    .default([])
    .describe("Identity providers that people sign in by, as JSON or as the path of a JSON file: see sign-in.md"),
  MILLRACE_PASSWORD_SIGN_IN: bool
    .default(true)
    .describe("Whether people may sign in by password, to the console and at /token; off only beside a provider"),
};

/** How much evals may watch of what runs. */
export const monitorSettings = {
  MILLRACE_MAX_MONITORS: int(0, 10_000).default(20).describe("Monitors of evals that an organisation may have"),
  MILLRACE_MAX_MONITOR_EVALUATORS: int(1, 50).default(10).describe("Evaluators of a monitor"),
  MILLRACE_MONITOR_RUNS_PER_HOUR: int(1, 100_000)
    .default(1000)
    .describe("Runs of an hour that a monitor may have scored: the most that its max_per_hour can be"),
  MILLRACE_MONITOR_MIN_WINDOW_SECONDS: int(1, 86_400).default(300).describe("Shortest window of a monitor's alert"),
  MILLRACE_MONITOR_INTERVAL_SECONDS: int(1, 3600)
    .default(60)
    .describe("How often a monitor scores what it has sampled, and looks at its alert"),
};

/** What the command line reads beside the settings of the service: which API it calls, and as whom. */
export const COMMAND_LINE_SETTINGS = ["MILLRACE_URL", "MILLRACE_API_KEY", "MILLRACE_ORG_ID"] as const;

/** Reads what a schema names. An empty variable counts as unset. Throws an Error that lists every problem. */
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
  throw new Error(`The configuration is not usable:\n${problems.join("\n")}`);
}

/** The missing settings where blobs are in S3: keys or a role, and a master key, which is created only where a directory can keep it. */
function missingForS3(values: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  if ((values["MILLRACE_BLOB_URL"] as BlobPlace | undefined)?.kind !== "s3") return [];
  const missing = (name: string): boolean => names.includes(name) && values[name] === undefined;
  const needed = `it has to be set where MILLRACE_BLOB_URL is s3://`;
  const keys = ["MILLRACE_S3_ACCESS_KEY_ID", "MILLRACE_S3_SECRET_ACCESS_KEY"];
  const role =
    values["AWS_CONTAINER_CREDENTIALS_FULL_URI"] !== undefined ||
    !["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"].some(missing);
  const lacking = role && keys.every(missing) ? [] : keys.filter(missing);
  return [
    ...lacking.map((name) => `  ${name}: ${needed}, unless AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE are`),
    ...["MILLRACE_MASTER_KEY"].filter(missing).map((name) => `  ${name}: ${needed}`),
  ];
}

/** Settings that are of no use without each other. */
const PAIRS = [
  ["TEMPORAL_TLS_CERT_FILE", "TEMPORAL_TLS_KEY_FILE"],
  ["MILLRACE_DEPLOYMENT", "MILLRACE_BUILD_ID"],
] as const;

function missingOfPairs(values: Readonly<Record<string, unknown>>): string[] {
  return PAIRS.filter(([one, other]) => (values[one] === undefined) !== (values[other] === undefined)).map(
    ([one, other]) => `  ${values[one] === undefined ? one : other}: ${one} and ${other} have to be set together`,
  );
}

/** Without a password and without a provider nobody could sign in. */
function missingForSignIn(values: Readonly<Record<string, unknown>>): string[] {
  const providers = values["MILLRACE_OIDC_PROVIDERS"];
  if (values["MILLRACE_PASSWORD_SIGN_IN"] !== false || (Array.isArray(providers) && providers.length > 0)) return [];
  return ["  MILLRACE_PASSWORD_SIGN_IN: it may be false only where MILLRACE_OIDC_PROVIDERS names a provider"];
}
