import { Problem } from "../../domain/errors.ts";
import type { ProblemCode } from "../../domain/errors.ts";
import type { RunError, RunState } from "../../domain/runs/run.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import type { JsonAnswer } from "../http/operation.ts";
import type { InferenceView } from "./inference-presenter.ts";

/** Where the run of an inference call can be asked for. */
export function metadataAddress(row: Pick<RunRow, "org_id" | "project_id" | "run_id">): string {
  return `/inference/v0/run/${row.org_id}/${row.project_id}/metadata?run_id=${row.run_id}`;
}

/** Who is to blame for a run's failure, seen by its caller: upstream, the time limit, or the service. */
function failureCode(error: RunError | null): ProblemCode {
  if (error?.code === "run_timeout") return "run_timeout";
  return error?.upstream ? "upstream_failed" : "run_failed";
}

/**
 * The answer to the waiting caller of a flow. Throws the Problem of a run that failed or was cancelled; it carries the
 * run's id, state, error and the outputs so far.
 */
export function answerInference(row: RunRow, view: InferenceView, verbose: boolean): JsonAnswer {
  switch (row.state) {
    case "COMPLETED":
      return { status: 200, body: verbose ? view : view.outputs };
    case "PAUSED":
      // Also where the bare outputs were asked for: without the pause nobody could answer it.
      return { status: 200, body: view };
    case "FAILED":
      throw ended(failureCode(row.error), row.error?.message ?? "The run failed.", view);
    case "CANCELLED":
      throw ended("run_cancelled", row.state_reason ?? "The run was cancelled while it was waited for.", view);
    default:
      return answerLater(row, view);
  }
}

/** The 202 of a run that is not waited for (any longer): PENDING is the answer, whatever the run does meanwhile. */
export function answerLater(row: RunRow, view: InferenceView): JsonAnswer {
  const state: RunState = "PENDING";
  return { status: 202, body: { ...view, state }, headers: { Location: metadataAddress(row) } };
}

function ended(code: ProblemCode, detail: string, view: InferenceView): Problem {
  const { run_id, state, error, outputs, citations, metadata, progress_data } = view;
  return new Problem(code, detail, { extra: { run_id, state, error, outputs, citations, metadata, progress_data } });
}
