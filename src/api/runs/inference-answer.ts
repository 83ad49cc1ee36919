import { Problem } from "../../domain/errors.ts";
import type { ProblemCode } from "../../domain/errors.ts";
import type { RunError, RunState } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { JsonAnswer } from "../http/operation.ts";
import type { InferenceView } from "./inference-presenter.ts";

/** The URL at which the run of an inference call can be read. */
export function metadataAddress(row: Pick<RunRow, "org_id" | "project_id" | "run_id">): string {
  return `/inference/v0/run/${row.org_id}/${row.project_id}/metadata?run_id=${row.run_id}`;
}

/** The error code of a failed run for its caller: upstream, the time limit, or an internal error. */
function failureCode(error: RunError | null): ProblemCode {
  if (error?.code === "run_timeout") return "run_timeout";
  return error?.upstream ? "upstream_failed" : "run_failed";
}

/**
 * The response to a caller that waits for a flow. Throws the Problem of a run that failed or was cancelled; it contains the run's ID,
 * state, error and the outputs so far.
 */
export function answerInference(row: RunRow, view: InferenceView, verbose: boolean): JsonAnswer {
  switch (row.state) {
    case "COMPLETED":
      return { status: 200, body: verbose ? view : view.outputs };
    case "PAUSED":
      // Included even with `verbose=false`, because callers need the pause to answer it.
      return { status: 200, body: view };
    case "FAILED":
      throw ended(failureCode(row.error), row.error?.message ?? "The run failed.", view);
    case "CANCELLED":
      throw ended("run_cancelled", row.state_reason ?? "The run was cancelled before it finished.", view);
    default:
      return answerLater(row, view);
  }
}

/** The 202 for a run that is not waited for (any longer): it says PENDING, whatever state the run has reached. */
export function answerLater(row: RunRow, view: InferenceView): JsonAnswer {
  const state: RunState = "PENDING";
  return { status: 202, body: { ...view, state }, headers: { Location: metadataAddress(row) } };
}

function ended(code: ProblemCode, detail: string, view: InferenceView): Problem {
  const { run_id, state, error, outputs, citations, metadata, progress_data } = view;
  return new Problem(code, detail, { extra: { run_id, state, error, outputs, citations, metadata, progress_data } });
}
