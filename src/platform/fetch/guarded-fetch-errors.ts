import { errors } from "undici";

/** Why a request was not sent (or a redirect not followed): a rule forbids it, so a retry does not help. */
export type RefusalCode =
  | "invalid_url"
  | "invalid_method"
  | "invalid_header"
  | "scheme_not_allowed"
  | "credentials_in_url"
  | "address_not_allowed"
  | "insecure_redirect"
  | "too_many_redirects"
  | "body_not_repeatable"
  | "request_too_large";

/** Why an allowed request failed. */
export type FetchFailureCode =
  | "dns_failed"
  | "connection_failed"
  | "tls_failed"
  | "timeout"
  | "response_too_large"
  | "headers_too_large"
  | "invalid_response"
  | "unsupported_encoding"
  | "invalid_encoding";

/** Thrown when the guard refuses a request. The message may be shown to users: it has no path, query or credential. */
export class FetchRefused extends Error {
  readonly code: RefusalCode;
  readonly retryable = false;
  /** Whether a redirect led here; if so, the server that sent it is at fault, not the person who entered the URL. */
  readonly redirected: boolean;

  constructor(code: RefusalCode, message: string, { redirected = false }: { redirected?: boolean } = {}) {
    super(message);
    this.name = "FetchRefused";
    this.code = code;
    this.redirected = redirected;
  }
}

/** Thrown when an allowed request got no usable response. The message may be shown to users, like that of FetchRefused. */
export class FetchFailed extends Error {
  readonly code: FetchFailureCode;
  /** Whether a retry could help. */
  readonly retryable: boolean;

  constructor(code: FetchFailureCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "FetchFailed";
    this.code = code;
    this.retryable = options.retryable ?? RETRYABLE.has(code);
  }
}

const RETRYABLE: ReadonlySet<FetchFailureCode> = new Set([
  "dns_failed",
  "connection_failed",
  "timeout",
  "invalid_response",
]);

const TIMEOUTS: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "could not connect in time",
  UND_ERR_HEADERS_TIMEOUT: "no response arrived in time",
  UND_ERR_BODY_TIMEOUT: "the response stopped arriving",
  ETIMEDOUT: "could not connect in time",
};

/** undici's error codes for responses that are not valid HTTP; some appear only as an undici assertion error. */
const INVALID = /^(?:HPE_|UND_ERR_RES_CONTENT_LENGTH_MISMATCH$|ERR_ASSERTION$)/;

/**
 * Converts errors of undici, the sockets and zlib, with or without a code, to our own errors: an unconverted one
 * would count as an internal error, and the request be retried. Our own errors and programming errors pass through.
 * Only error codes reach the message: texts of the system name the resolved address.
 */
export function toFetchError(error: unknown, origin: string): unknown {
  if (error instanceof FetchRefused || error instanceof FetchFailed) return error;
  const code = errorCode(error);
  const late = code === undefined ? undefined : TIMEOUTS[code];
  if (late !== undefined) return new FetchFailed("timeout", `${origin}: ${late}.`);
  if (code === "UND_ERR_HEADERS_OVERFLOW" || code === "HPE_HEADER_OVERFLOW") {
    return new FetchFailed("headers_too_large", `The response headers of ${origin} are too large.`);
  }
  // Has no cause, because the parser's error contains the bytes it stopped at.
  if (isParserError(error) || (code !== undefined && INVALID.test(code))) {
    return new FetchFailed("invalid_response", `The response of ${origin} is not valid HTTP.`);
  }
  if (code === undefined) {
    if (isMistake(error)) return error;
    return new FetchFailed("connection_failed", `The connection to ${origin} failed.`, { cause: error });
  }
  if (code.startsWith("Z_") || code.startsWith("ERR__ERROR_") || code.startsWith("ERR_PADDING")) {
    return new FetchFailed("invalid_encoding", `The response of ${origin} cannot be decompressed (${code}).`);
  }
  if (isTlsCode(code)) {
    return new FetchFailed("tls_failed", `Could not make a secure connection to ${origin} (${code}).`, {
      cause: error,
    });
  }
  return new FetchFailed("connection_failed", `The connection to ${origin} failed (${code}).`, { cause: error });
}

// Most parser errors of undici have no code.
function isParserError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof errors.HTTPParserError || isParserError(error.cause);
}

function isMistake(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
}

function isTlsCode(code: string): boolean {
  return /^(ERR_(TLS|SSL)_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$|HOSTNAME_MISMATCH)/.test(code);
}

function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string") return error.code;
  // All addresses of a host were tried: Node then throws an AggregateError without a code of its own.
  if (error instanceof AggregateError) return errorCode(error.errors[0]);
  return error.cause === undefined ? undefined : errorCode(error.cause);
}
