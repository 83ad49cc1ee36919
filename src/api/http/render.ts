import { PROBLEMS, Problem, ValidationProblem } from "../../domain/errors.ts";
import { NoPlace } from "../../domain/places.ts";
import { isConnectionError } from "../../stores/db.ts";
import type { AnswerHeaders, JsonAnswer, RequestContext } from "./operation.ts";

/** A response as bytes, to be sent and to be stored for a replay. */
export interface Rendered {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** JSON text. */
  readonly body?: string;
  /** Whether the response is final although its status is that of a failure. */
  readonly settled?: boolean;
  /** See `recoverable` of JsonAnswer. */
  readonly recoverable?: boolean;
}

/** Renders a JSON response. */
export function renderJson(answer: JsonAnswer): Rendered {
  const { status, body, headers, recoverable = false } = answer;
  if (body === undefined) return { status, headers: { ...headers } };
  return {
    status,
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...(recoverable && { recoverable }),
  };
}

/** Writes a rendered response. */
export function send(ctx: RequestContext, rendered: Rendered): void {
  ctx.set(rendered.headers);
  ctx.body = rendered.body ?? null;
  // Koa turns an empty body into a 204; keep the status of a 202 or 304.
  ctx.status = rendered.status;
}

/** gRPC statuses of a Temporal frontend that cannot be reached, or does not respond in time. */
const UNAVAILABLE: readonly unknown[] = [14, 4];
/** SQLSTATE of a statement that exceeded its time limit. */
const QUERY_CANCELED = "57014";

/**
 * Converts an error to the Problem to respond with: a Problem itself, 429 if the organisation has too much work in progress, 503 if a
 * dependency does not respond, otherwise a 500 without details.
 */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof NoPlace) {
    const message = "Too many requests of this organisation are waiting. Send fewer at the same time, then retry.";
    return new Problem("rate_limited", message, { headers: { "Retry-After": "1" }, cause: error });
  }
  if ((error as { readonly code?: unknown } | null)?.code === QUERY_CANCELED) {
    const message =
      "The database query took too long. Request less: narrower filters, a shorter time range, or a smaller page.";
    return new Problem("service_unavailable", message, { headers: { "Retry-After": "2" }, cause: error });
  }
  if (isUnavailable(error)) {
    return new Problem("service_unavailable", "A required service is not responding. Retry shortly.", {
      headers: { "Retry-After": "2" },
      cause: error,
    });
  }
  return new Problem("internal_error", "Internal error. Find details in the server log by request ID.", {
    cause: error,
  });
}

/** Whether Postgres or Temporal could not be reached; Temporal's client wraps the gRPC error as `cause`. */
function isUnavailable(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = (at as { code?: unknown }).code;
    if (UNAVAILABLE.includes(code) || at.name === "TransportError" || isConnectionError(at)) return true;
  }
  return false;
}

/** Renders the response body: interface.md's HTTPValidationError for 422, RFC 9457 for the others. */
export function renderProblem(problem: Problem, requestId: string): Rendered {
  const valid = !(problem instanceof ValidationProblem);
  const common = { code: problem.code, request_id: requestId };
  const body = valid
    ? {
        ...problem.extra,
        type: `urn:millrace:problem:${problem.code}`,
        title: PROBLEMS[problem.code].title,
        status: problem.status,
        detail: problem.message,
        ...common,
      }
    : { ...problem.extra, detail: problem.issues, ...common };
  return {
    status: problem.status,
    headers: { ...problem.headers, "Content-Type": valid ? "application/problem+json" : "application/json" },
    body: JSON.stringify(body),
    // The response of an executed run never changes, even if the run failed.
    settled: "run_id" in problem.extra,
  };
}
