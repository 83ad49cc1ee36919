import type { RunError } from "../runs/run.ts";

type VisitorError = Pick<RunError, "code" | "message">;

const FAILED: VisitorError = {
  code: "run_failed",
  message: "Something went wrong. Try again; if it happens again, tell the owner of this page.",
};

/** Errors that a visitor can do something about. */
const BY_CODE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    document_lost: "A document is no longer there. Upload it again.",
    documents_missing: "Upload the documents first, then try again.",
    file_not_found: "A file is no longer there. Upload it again.",
    file_too_large: "A file is too large.",
    pause_expired: "No one decided in time. Start again.",
    run_timeout: "This took too long and was stopped. Try again.",
  }),
);

/**
 * A run's error without what an upstream service, a template or a script says, which may quote what is not the visitor's. The message of a
 * guard is shown, because the flow's author wrote it for whoever gave the inputs.
 */
export function visitorError(error: VisitorError | null): VisitorError | null {
  if (error === null) return null;
  const { code, message } = error;
  if (code === "guard_failed") return { code, message };
  const known = BY_CODE.get(code);
  return known === undefined ? FAILED : { code, message: known };
}
