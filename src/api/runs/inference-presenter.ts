import { z } from "zod";
import type { Json } from "../../domain/json.ts";
import { RUN_STATES } from "../../domain/runs/run.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RunRow } from "../../stores/runs/runs.ts";
import { presentRunError, presentUsage, runErrorSchema, usageSchema } from "./node-run-presenter.ts";
import { flowPauseSchema, presentFlowPause } from "./pause-presenter.ts";
import { latencyOf, queuedOf, presentProgress, progressSchema } from "./run-presenter.ts";

/** Numbers within a path count as numbers. */
const BY_PLACE = new Intl.Collator("en", { numeric: true });

export const outputsSchema = z.record(z.string(), z.unknown()).meta({
  id: "FlowOutputs",
  description: "The value of every output of the flow, by node id. The members depend on the flow.",
});

/** The answer of a run: always these members, except `pauses`. */
export const inferenceSchema = z
  .object({
    outputs: outputsSchema,
    citations: z.array(z.unknown()),
    run_id: z.uuid(),
    metadata: z.object({
      flow_version: z.int(),
      latency_ms: z.int().nullable().describe("From the run's start to its end, pauses included; null until then."),
      queued_ms: z.int().nullable().describe("From the run's creation to its start; null until then."),
      usage: usageSchema,
      ignored_inputs: z.array(z.string()).describe("Members of the body that are no input of the flow."),
    }),
    progress_data: progressSchema,
    state: z.enum(RUN_STATES),
    pause: flowPauseSchema.nullable().describe("The first pause that waits for an answer."),
    pauses: z
      .array(flowPauseSchema)
      .optional()
      .describe(
        "All that wait for an answer, in the order of their places (`map-0[2]` before `map-0[10]`); only while there are any.",
      ),
    error: runErrorSchema.nullable(),
  })
  .meta({ id: "FlowRun" });
export type InferenceView = z.infer<typeof inferenceSchema>;

export interface PresentableInference {
  readonly row: RunRow;
  readonly outputs: Readonly<Record<string, Json>>;
  /** The open pauses. */
  readonly pauses: readonly PauseRow[];
}

export function presentInference({ row, outputs, pauses }: PresentableInference): InferenceView {
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
    progress_data: presentProgress(row),
    state: row.state,
    pause: views[0] ?? null,
    ...(views.length > 0 && { pauses: views }),
    error: presentRunError(row.error),
  };
}
