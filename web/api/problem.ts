/** One faulty place of a request. */
export interface Issue {
  readonly loc: ReadonlyArray<string | number>;
  readonly msg: string;
}

/** Thrown when a request was refused, failed, or never arrived (status 0). */
export class ApiProblem extends Error {
  readonly status: number;
  /** The API's stable word. */
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

/** Reads a failed answer, whatever it holds: a proxy on the way may answer with anything, or nothing. */
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
        : `The service answered ${response.status}.`;
  return new ApiProblem(response.status, typeof code === "string" ? code : "unknown", text, requestId, issues);
}

/** Whether a change was refused because what it was made of had changed. */
export const isStale = (error: unknown): boolean => error instanceof ApiProblem && error.status === 412;

/** Any error as a problem to show. */
export function toProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  if (error instanceof TypeError) return new ApiProblem(0, "no_connection", "The service cannot be reached.", null);
  return new ApiProblem(0, "unexpected", error instanceof Error ? error.message : String(error), null);
}
