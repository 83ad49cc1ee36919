/** Every error code a response can carry, with its HTTP status and title. The list is closed: a new code is a line here. */
export const PROBLEMS = {
  bad_request: { status: 400, title: "Bad request" },
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  invalid_cursor: { status: 400, title: "The cursor is not valid" },
  cursor_mismatch: { status: 400, title: "The cursor belongs to a list with different filters" },
  unauthorized: { status: 401, title: "A valid credential is required" },
  forbidden: { status: 403, title: "The credential does not allow this" },
  missing_scope: { status: 403, title: "The API key lacks a required scope" },
  key_restricted: { status: 403, title: "The API key is restricted" },
  not_an_assignee: { status: 403, title: "You are not an assignee of this pause" },
  not_found: { status: 404, title: "Not found" },
  flow_version_not_found: { status: 404, title: "The flow does not have this version" },
  environment_not_found: { status: 404, title: "The project does not have this environment" },
  method_not_allowed: { status: 405, title: "The method is not allowed for this path" },
  not_acceptable: { status: 406, title: "No representation matches the Accept header" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  conflict: { status: 409, title: "The request conflicts with the current state" },
  idempotency_conflict: { status: 409, title: "The Idempotency-Key was already used for a different request" },
  idempotency_in_progress: { status: 409, title: "The first request with this Idempotency-Key is still in progress" },
  run_already_finished: { status: 409, title: "The run has already finished" },
  run_cancelled: { status: 409, title: "The run was cancelled" },
  run_not_resumable: { status: 409, title: "The run cannot be resumed" },
  pause_already_resolved: { status: 409, title: "The pause is already resolved" },
  pause_already_answered: { status: 409, title: "You have already answered this pause" },
  too_many_nested_runs: { status: 409, title: "Too many nested runs" },
  runs_open: { status: 409, title: "There are unfinished runs" },
  in_use: { status: 409, title: "The resource is in use" },
  tools_changed: { status: 409, title: "The server's tools have changed since the import" },
  sync_in_progress: { status: 409, title: "A sync is already running" },
  sync_already_finished: { status: 409, title: "The sync has already finished" },
  subscription_disabled: { status: 409, title: "The webhook is disabled" },
  environment_empty: { status: 409, title: "The environment has no version" },
  review_required: { status: 409, title: "A second person has to approve this" },
  name_taken: { status: 409, title: "The name is already in use" },
  pause_expired: { status: 410, title: "The pause has expired" },
  page_closed: { status: 410, title: "The page is closed" },
  precondition_failed: { status: 412, title: "The resource has changed since it was read" },
  payload_too_large: { status: 413, title: "The request is too large" },
  unsupported_media_type: { status: 415, title: "The content type is not supported" },
  range_not_satisfiable: { status: 416, title: "The requested range cannot be satisfied" },
  expectation_failed: { status: 417, title: "This value of the Expect header is not supported" },
  validation_error: { status: 422, title: "The request is not valid" },
  rate_limited: { status: 429, title: "Too many requests" },
  too_many_concurrent_runs: { status: 429, title: "Too many concurrent runs" },
  too_many_new_runs: { status: 429, title: "Too many runs waiting to be accepted" },
  quota_exceeded: { status: 429, title: "Quota exceeded" },
  headers_too_large: { status: 431, title: "The request headers are too large" },
  internal_error: { status: 500, title: "Internal error" },
  run_failed: { status: 500, title: "The run failed" },
  upstream_failed: { status: 502, title: "An upstream service failed" },
  service_unavailable: { status: 503, title: "The service is temporarily unavailable" },
  run_timeout: { status: 504, title: "The run exceeded its time limit" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid location in a request, in the shape of interface.md's ValidationError. */
export interface ValidationIssue {
  readonly loc: ReadonlyArray<string | number>;
  readonly msg: string;
  readonly type: string;
}

/** Thrown when a request cannot be served for a reason the client may know. Its message reaches the client. */
export class Problem extends Error {
  readonly code: ProblemCode;
  /** Fields added to the problem document beside the standard ones. */
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    options: { extra?: Record<string, unknown>; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = "Problem";
    this.code = code;
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** Most issues in one response, because a hostile request can contain any number. */
const MAX_ISSUES = 100;

/** Thrown when parts of a request are invalid; carries up to a hundred locations. */
export class ValidationProblem extends Problem {
  readonly issues: readonly ValidationIssue[];

  constructor(issues: readonly ValidationIssue[], extra: Record<string, unknown> = {}) {
    const listed = firstOf(issues);
    super("validation_error", listed.map((issue) => `${issue.loc.join(".")}: ${issue.msg}`).join("; "), { extra });
    this.name = "ValidationProblem";
    this.issues = listed;
  }
}

function firstOf(issues: readonly ValidationIssue[]): readonly ValidationIssue[] {
  const omitted = issues.slice(MAX_ISSUES);
  const [first] = omitted;
  if (!first) return issues;
  const msg = `${omitted.length} more issues are not listed`;
  return [...issues.slice(0, MAX_ISSUES), { loc: first.loc.slice(0, 1), msg, type: "too_many_issues" }];
}

/** A 422 for one location. */
export function invalid(loc: ReadonlyArray<string | number>, msg: string, type = "value_error"): ValidationProblem {
  return new ValidationProblem([{ loc, msg, type }]);
}

/** The same for several faults of a value at `loc`, each at its path within the value. */
export function invalidParts(
  loc: ReadonlyArray<string | number>,
  faults: ReadonlyArray<{ readonly path: ReadonlyArray<string | number>; readonly message: string }>,
): ValidationProblem {
  return new ValidationProblem(
    faults.map(({ path, message }) => ({ loc: [...loc, ...path], msg: message, type: "value_error" })),
  );
}

/** The 413 for a body, or a part of it, over its limit in bytes. */
export function tooLarge(what: string, maxBytes: number): Problem {
  return new Problem("payload_too_large", `The ${what} is longer than ${maxBytes} bytes.`, {
    extra: { limit_bytes: maxBytes },
  });
}

/** The 409 for a request that what exists does not allow now. */
export function conflict(detail: string): Problem {
  return new Problem("conflict", detail);
}

/** The 404 for a version that the flow does not have. */
export function noSuchVersion(): Problem {
  return new Problem("flow_version_not_found", "The flow does not have this version.");
}

/** The 404 for an ID that does not exist. The response is byte for byte the same for an ID of another organisation. */
export function notFound(what: string): Problem {
  return new Problem("not_found", `${what.charAt(0).toUpperCase()}${what.slice(1)} not found.`);
}

/** Returns what was found; throws `notFound` if it is null or undefined. */
export function required<Found>(found: Found | null | undefined, what: string): Found {
  if (found === null || found === undefined) throw notFound(what);
  return found;
}
