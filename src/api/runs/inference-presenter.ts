import { z } from "zod";
import type { Json } from "../../domain/json.ts";
import { RUN_STATES, type RunError, type RunState } from "../../domain/runs/run.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { Problem, type ProblemCode } from "../../domain/errors.ts";
import { named } from "../http/schemas.ts";
import type { JsonAnswer } from "../http/operation.ts";
import { presentRunError, presentUsage, runErrorSchema, usageSchema } from "./node-run-presenter.ts";
import { flowPauseSchema, presentFlowPause } from "./pause-presenter.ts";
import { latencyOf, queuedOf, presentProgress, progressSchema } from "./run-presenter.ts";

/** Sorts numbers within a path as numbers. */
const BY_PLACE = new Intl.Collator("en", { numeric: true });

export const outputsSchema = z.record(z.string(), z.unknown()).meta({
  id: "FlowOutputs",
  description: "The value of every output of the flow, keyed by node ID. The fields depend on the flow.",
});

const flowProgressSchema = named("FlowRunProgress", {
  ...progressSchema.shape,
  current_node: z.string().nullable().describe("Name of the node that is running, or its ID if it has no name."),
  current_node_id: z.string().nullable().describe("ID of the node that is running."),
});

/** The response of a run: always these fields, except `pauses`. */
export const inferenceSchema = named("FlowRun", {
  outputs: outputsSchema,
  citations: z.array(z.unknown()),
  run_id: z.uuid(),
  metadata: z.object({
    flow_version: z.int(),
    latency_ms: z
      .int()
      .nullable()
      .describe("Time from start to finish including pauses, in ms. `null` until it finishes."),
    queued_ms: z.int().nullable().describe("Time from creation to start, in ms. `null` until it starts."),
    usage: usageSchema,
    ignored_inputs: z.array(z.string()).describe("Fields of the body that match no input of the flow."),
  }),
  progress_data: flowProgressSchema,
  state: z.enum(RUN_STATES),
  pause: flowPauseSchema.nullable().describe("The first pause that waits for an answer."),
  pauses: z
    .array(flowPauseSchema)
    .optional()
    .describe(
      "All pauses that wait for an answer, sorted by path (`map-0[2]` before `map-0[10]`). Omitted if there are none.",
    ),
  error: runErrorSchema.nullable(),
});
export type InferenceView = z.infer<typeof inferenceSchema>;

/** A run with its outputs, its open pauses, and the name that the flow gives to the current node. */
export function presentInference(
  row: RunRow,
  outputs: Readonly<Record<string, Json>>,
  pauses: readonly PauseRow[],
  nodeName: string | undefined,
): InferenceView {
  const views = pauses.toSorted((a, b) => BY_PLACE.compare(a.path, b.path)).map(presentFlowPause);
  return {
    outputs,
    citations: Array.isArray(row.citations) ? row.citations : [],
    run_id: row.run_id,
    metadata: {
      flow_version: row.flow_version,
      latency_ms: latencyOf(row),
      queued_ms: queuedOf(row),
      usage: presentUsage(row.usage),
      ignored_inputs: [...row.ignored_inputs],
    },
    progress_data: {
      ...presentProgress(row),
      current_node: nodeName ?? row.current_node,
      current_node_id: row.current_node,
    },
    state: row.state,
    pause: views[0] ?? null,
    ...(views.length > 0 && { pauses: views }),
    error: presentRunError(row.error),
  };
}

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
