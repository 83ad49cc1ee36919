import { pino, stdSerializers, stdTimeFunctions } from "pino";
import type { DestinationStream, Level, Logger as PinoLogger } from "pino";
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

/**
 * Creates a logger that writes no secrets: known members are masked by path, and every finished line is scrubbed
 * by pattern, so that neither a message, a stack nor a nested value carries a key along.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: stdSerializers.errWithCause, error: stdSerializers.errWithCause },
    redact: { paths: SECRET_PATHS, censor: MASK },
    hooks: { streamWrite: redactSecrets },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}
