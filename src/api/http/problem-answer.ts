import { PROBLEMS, Problem, ValidationProblem } from "../../domain/errors.ts";
import { isConnectionError } from "../../stores/db.ts";
import type { Rendered } from "./render.ts";

/** gRPC statuses of a Temporal frontend that cannot be reached, or does not answer in time. */
const UNAVAILABLE: readonly unknown[] = [14, 4];
/** SQLSTATE of a statement that ran into its time limit. */
const QUERY_CANCELED = "57014";

/** The Problem that an error is answered with: itself, 503 where a dependency does not answer, otherwise a 500 without details. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isUnavailable(error)) {
    return new Problem("service_unavailable", "A part of the service does not answer. Try again shortly.", {
      headers: { "Retry-After": "2" },
      cause: error,
    });
  }
  return new Problem("internal_error", "Something went wrong on our side. The request id finds it in the log.", {
    cause: error,
  });
}

/** Whether Postgres or Temporal could not be reached; Temporal's client wraps the gRPC error as cause. */
function isUnavailable(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = (at as { code?: unknown }).code;
    if (UNAVAILABLE.includes(code) || code === QUERY_CANCELED || at.name === "TransportError" || isConnectionError(at))
      return true;
  }
  return false;
}

/** The wire shape: interface.md's HTTPValidationError for 422, RFC 9457 for the rest. */
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
    // The answer of an executed run never changes, even if the run failed.
    settled: "run_id" in problem.extra,
  };
}
