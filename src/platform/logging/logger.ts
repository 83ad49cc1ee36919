import {
  pino,
  stdSerializers,
  stdTimeFunctions,
  type DestinationStream,
  type Level,
  type Logger as PinoLogger,
} from "pino";
import { traceFields } from "../tracing/current.ts";
import { MASK, redactSecrets } from "./redaction.ts";

/** Writes one JSON line a message. `logger.child({ request_id, run_id, org_id })` adds what all messages of a scope share. */
export type Logger = PinoLogger;

export interface LoggerOptions {
  readonly level: Level | "silent";
  /** Which process writes: "api", "worker", "migrate". */
  readonly service: string;
  /** Default: standard output. */
  readonly destination?: DestinationStream;
}

const SECRET_MEMBERS = [
  "authorization",
  "cookie",
  "password",
  "secret",
  "token",
  "access_token",
  "refresh_token",
  "api_key",
  "client_secret",
];
const SECRET_PATHS = [
  ...SECRET_MEMBERS.flatMap((name) => [name, `*.${name}`, `*.headers.${name}`]),
  ...["proxy-authorization", "set-cookie", "x-api-key"].flatMap((name) => [
    `headers["${name}"]`,
    `*.headers["${name}"]`,
  ]),
];

/** Longest text of an error in a line (characters); longer texts are cut before they are searched for secrets. */
const MAX_CHARS = 4096;

/** An error with its causes, as by stdSerializers; a value that is not an Error is only shortened. */
function errorForLog(error: unknown): unknown {
  return shorten(error instanceof Error ? stdSerializers.errWithCause(error) : error, 0);
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === "string")
    return value.length > MAX_CHARS ? `${value.slice(0, MAX_CHARS)}…`.toWellFormed() : value;
  if (typeof value !== "object" || value === null || depth > 10) return value;
  if (Array.isArray(value)) return value.map((item) => shorten(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shorten(item, depth + 1)]));
}

/**
 * Creates a logger that writes no secrets: known fields are masked by path, and every finished line is scrubbed by pattern, so that no
 * message, stack or nested value contains a key.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorForLog, error: errorForLog },
    redact: { paths: SECRET_PATHS, censor: MASK },
    mixin: () => ({ ...traceFields() }),
    hooks: { streamWrite: redactSecrets },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}
