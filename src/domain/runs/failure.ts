/** Longest message of an error (characters). */
const MAX_MESSAGE_CHARS = 4096;

/** Shortens a message for an error. It is cut before any other processing, because messages quote what callers send. */
export function shortMessage(text: string): string {
  const cut = text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS - 1)}…` : text;
  // A lone surrogate would abort the process in the SDK's core.
  return cut.toWellFormed();
}

/** The `upstream_status` field of an error; no field if the status is unknown. */
export const statusIn = (upstream_status: number | undefined): { readonly upstream_status?: number } =>
  upstream_status === undefined ? {} : { upstream_status };

/** Thrown when a node fails; becomes the `error` of the node and, unless handled, of the run. */
export class NodeFailure extends Error {
  /** Stable snake_case word, e.g. "http_status", "node_timeout", "expression_failed". */
  readonly code: string;
  /** Whether a retry could help; the node's retry policy applies only then. */
  readonly retryable: boolean;
  /** Whether an upstream service caused the failure (a synchronous caller receives 502 instead of 500). */
  readonly upstream: boolean;
  /** The upstream service's Retry-After (milliseconds); a retry waits at least that long. */
  readonly retry_after_ms: number | undefined;
  /** The HTTP status of the upstream service's response. */
  readonly upstream_status: number | undefined;

  constructor(
    code: string,
    message: string,
    options: {
      retryable?: boolean;
      upstream?: boolean;
      retry_after_ms?: number | undefined;
      upstream_status?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(shortMessage(message), { cause: options.cause });
    this.name = "NodeFailure";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.upstream = options.upstream ?? false;
    this.retry_after_ms = options.retry_after_ms;
    this.upstream_status = options.upstream_status;
  }
}
