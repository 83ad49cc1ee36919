/** Longest message of an error (characters). */
const MAX_MESSAGE_CHARS = 4096;

/** A message as errors carry it. Cut before anything else looks at it: messages quote what callers send. */
export function shortMessage(text: string): string {
  const cut = text.length > MAX_MESSAGE_CHARS ? `${text.slice(0, MAX_MESSAGE_CHARS - 1)}…` : text;
  // The SDK's core aborts the process on a lone surrogate.
  return cut.toWellFormed();
}

/** The member of an error that has the status of the other side; nothing where there is none. */
export const statusIn = (upstream_status: number | undefined): { readonly upstream_status?: number } =>
  upstream_status === undefined ? {} : { upstream_status };

/** Thrown when a node fails; becomes the `error` of the node and, unless handled, of the run. */
export class NodeFailure extends Error {
  /** Stable snake_case word, e.g. "http_status", "node_timeout", "expression_failed". */
  readonly code: string;
  /** Whether trying again could help; only then does the node's retry policy apply. */
  readonly retryable: boolean;
  /** Whether an upstream service is to blame (a sync caller sees 502 instead of 500). */
  readonly upstream: boolean;
  /** The upstream service's Retry-After (milliseconds); a retry waits at least that long. */
  readonly retry_after_ms: number | undefined;
  /** The status that an upstream service answered. */
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
