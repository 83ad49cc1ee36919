/** One invalid location in a request. */
export interface Issue {
  readonly loc: ReadonlyArray<string | number>;
  readonly msg: string;
  /** What kind of fault it is, such as "missing"; not sent by proxies. */
  readonly type?: string;
}

/** Thrown when a request is rejected, fails, or gets no response (status 0). */
export class ApiProblem extends Error {
  readonly status: number;
  /** The stable error code of the API. */
  readonly code: string;
  readonly requestId: string | null;
  readonly issues: readonly Issue[];

  constructor(status: number, code: string, detail: string, requestId: string | null, issues: readonly Issue[] = []) {
    super(detail);
    this.name = "ApiProblem";
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.issues = issues;
  }
}

/** Converts an error response with any body: a proxy may reply with arbitrary or no content. */
export function problemOf(response: Response, body: unknown): ApiProblem {
  const { code, detail, request_id } = (typeof body === "object" && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const requestId = typeof request_id === "string" ? request_id : response.headers.get("x-request-id");
  const issues = Array.isArray(detail) ? (detail as Issue[]) : [];
  const text =
    typeof detail === "string"
      ? detail
      : issues.length > 0
        ? issues.map((issue) => `${issue.loc.slice(1).join(".")}: ${issue.msg}`).join("; ")
        : `The server responded with status ${response.status}.`;
  return new ApiProblem(response.status, typeof code === "string" ? code : "unknown", text, requestId, issues);
}

/** Whether a change was refused because its resource had changed since it was read. */
export const isStale = (error: unknown): boolean => error instanceof ApiProblem && error.status === 412;

/** Converts any error to an ApiProblem for display. */
export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof TypeError) return new ApiProblem(0, "no_connection", "Cannot reach the server.", null);
  return new ApiProblem(0, "unexpected", error instanceof Error ? error.message : String(error), null);
}
