import { z } from "zod";
import type { Json } from "../../domain/json.ts";
import { RUN_STATES } from "../../domain/runs/run.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { presentRunError, presentUsage, runErrorSchema, usageSchema } from "./node-run-presenter.ts";
import { flowPauseSchema, presentFlowPause } from "./pause-presenter.ts";
import { latencyOf, queuedOf, presentProgress, progressSchema } from "./run-presenter.ts";

/** Sorts numbers within a path as numbers. */
const BY_PLACE = new Intl.Collator("en", { numeric: true });

export const outputsSchema = z.record(z.string(), z.unknown()).meta({
  id: "FlowOutputs",
  description: "The value of every output of the flow, keyed by node ID. The fields depend on the flow.",
});

const flowProgressSchema = progressSchema
  .extend({
    current_node: z.string().nullable().describe("Name of the node that is running, or its ID if it has no name."),
    current_node_id: z.string().nullable().describe("ID of the node that is running."),
  })
  .meta({ id: "FlowRunProgress" });

/** The response of a run: always these fields, except `pauses`. */
export const inferenceSchema = z
  .object({
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
  })
  .meta({ id: "FlowRun" });
export type InferenceView = z.infer<typeof inferenceSchema>;

export interface PresentableInference {
  readonly row: RunRow;
  readonly outputs: Readonly<Record<string, Json>>;
  /** Only open pauses. */
  readonly pauses: readonly PauseRow[];
  /** The name that the flow gives to the current node. */
  readonly nodeName: string | undefined;
}

export function presentInference({ row, outputs, pauses, nodeName }: PresentableInference): InferenceView {
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
