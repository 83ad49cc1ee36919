import { z } from "zod";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { RAN_BY_TYPES, RUN_STATES, RUN_TYPES, type RunError } from "../../domain/runs/run.ts";
import type { NodeNameOf } from "../../stores/runs/node-names.ts";
import type { PauseRow } from "../../stores/runs/pauses.ts";
import type { RetryingNode } from "../../stores/runs/node-runs.ts";
import { RUN_EVENT_TYPES } from "../../stores/runs/run-events.ts";
import type { RunListRow } from "../../stores/runs/run-lists.ts";
import { runWorkflowId } from "../../temporal/ids.ts";
import { asDeclared, named } from "../http/schemas.ts";
import { nodeRunSchema, presentRunError, presentUsage, runErrorSchema, usageSchema } from "./node-run-presenter.ts";
import { pauseSchema, presentPause } from "./pause-presenter.ts";

export const progressSchema = z
  .object({
    current_node: z.string().nullable(),
    total_nodes: z.int(),
    started_nodes: z.int(),
    completed_nodes: z.int(),
    skipped_nodes: z.int(),
  })
  .meta({ id: "RunProgress", description: "Counts of the flow's top-level nodes." });
export type ProgressView = z.infer<typeof progressSchema>;

const values = z.record(z.string(), z.unknown()).meta({
  description:
    'Inputs keyed by node ID. A value too long to show here is `{"$truncated": true, "size": <bytes of JSON>, "preview": "..."}`.',
});

const nodeName = z.string().nullable().describe("Name of the node in the flow; `null` if it has none.");

const runFailureSchema = named("RunFailure", {
  ...runErrorSchema.shape,
  node_name: nodeName,
});

const waitingForSchema = named("RunWaitingFor", {
  node: z.string().describe("ID of the node that is being retried."),
  node_name: nodeName,
  path: z.string().describe("Path of the node: `http-0`, or `map-0[3]/http-0` inside an iteration."),
  reason: z.string().describe("Why the last attempt failed, or that another attempt is in progress."),
  since: z.iso.datetime().nullable().describe("When the first attempt started."),
  next_attempt_at: z.iso
    .datetime()
    .nullable()
    .describe("When the next attempt starts; `null` while one is in progress."),
});

export const runSchema = named("Run", {
  run_id: z.uuid(),
  project_id: z.uuid(),
  flow_version: z
    .int()
    .describe(
      "Below -1 for a run of a draft: `GET /v2/projects/{project_id}/versions/{version}` returns what it executes.",
    ),
  environment: z
    .string()
    .nullable()
    .describe("Name of the environment when the run started; `null` for runs of drafts and explicit versions."),
  state: z.enum(RUN_STATES),
  state_reason: z.string().nullable(),
  inputs: values,
  outputs: values.nullable(),
  error: runFailureSchema.nullable(),
  pauses: z.array(pauseSchema),
  waiting_for: waitingForSchema
    .nullable()
    .describe(
      "The node that a RUNNING run is retrying, and why. With several, the one that has been retrying longest.",
    ),
  progress_data: progressSchema,
  run_type: z.enum(RUN_TYPES),
  ran_by_type: z.enum(RAN_BY_TYPES),
  ran_by_id: z.uuid().nullable(),
  user_id: z.string().nullable(),
  parent_run_id: z.uuid().nullable(),
  resumed_from: z
    .object({
      run_id: z.uuid(),
      node_id: z
        .string()
        .nullable()
        .describe(
          "The top-level node from which this run resumes; `null` for a rerun from the start (bulk action `replay`), and if no node was left to run.",
        ),
      path: z
        .string()
        .nullable()
        .describe(
          "Path at which the earlier run stopped: `node_id` itself, or a node inside it such as `map-0[2]/http-0`.",
        ),
    })
    .nullable(),
  metadata: z.record(z.string(), z.unknown()),
  tags: z.array(z.string()),
  usage: usageSchema,
  latency_ms: z
    .int()
    .nullable()
    .describe("Time from start to finish including pauses, in ms. `null` until it finishes."),
  queued_ms: z.int().nullable().describe("Time from creation (or `run_at`) to start, in ms. `null` until it starts."),
  run_at: z.iso.datetime().nullable(),
  timeout_seconds: z.int(),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  paused_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
  temporal: z.object({ workflow_id: z.string(), run_id: z.string().nullable() }),
});
export type RunView = z.infer<typeof runSchema>;

/** A run at its own URL, with its nodes if they were requested. */
export const runWithNodesSchema = named("RunWithNodes", {
  ...runSchema.shape,
  citations: z.array(z.unknown()).describe("Chunks that the outputs cite; empty until the run finishes."),
  nodes: z
    .array(nodeRunSchema)
    .optional()
    .describe("Only with `expand=nodes`: top-level nodes first, then nodes inside maps and loops."),
  nodes_truncated: z.boolean().optional().describe("Whether some nodes are omitted from the response."),
});

/** A run's row without its values, and the values in the form that readers see. */
export interface PresentableRun {
  readonly row: Omit<RunListRow, "inputs" | "outputs">;
  readonly inputs: Readonly<Record<string, Json>>;
  readonly outputs: Readonly<Record<string, Json>> | null;
  readonly pauses: readonly PauseRow[];
  readonly retrying: RetryingNode | null;
  readonly nameOf: NodeNameOf;
}

export function presentRun({ row, inputs, outputs, pauses, retrying, nameOf }: PresentableRun): RunView {
  const nameAt = (path: string | null): string | null => (path === null ? null : nameOf({ ...row, path }));
  const error = presentRunError(row.error);
  return asDeclared(runSchema, {
    ...row,
    inputs,
    outputs,
    error: error && { ...error, node_name: nameAt(error.path) },
    pauses: pauses.map(presentPause),
    waiting_for: retrying && { ...presentWaiting(retrying), node_name: nameAt(retrying.path) },
    progress_data: row,
    usage: presentUsage(row.usage),
    latency_ms: latencyOf(row),
    queued_ms: queuedOf(row),
    temporal: { workflow_id: runWorkflowId(row.run_id), run_id: row.temporal_run_id },
  });
}

function presentWaiting(node: RetryingNode): Omit<z.infer<typeof waitingForSchema>, "node_name"> {
  return {
    node: node.node_id,
    path: node.path,
    reason: node.error ? `${node.error.code}: ${node.error.message}` : `Attempt ${node.attempts} is running.`,
    since: node.started_at,
    next_attempt_at: node.next_attempt_at,
  };
}

export const presentProgress = (row: Pick<RunListRow, keyof ProgressView>) => asDeclared(progressSchema, row);

/** Duration of a run in milliseconds, from its start to its end; null before its end. */
export function latencyOf({ started_at, finished_at }: Pick<RunListRow, "started_at" | "finished_at">): number | null {
  if (finished_at === null) return null;
  // A run that ended before it started has duration 0.
  return started_at === null ? 0 : Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
}

/** How long a run has waited for its start, or for its end if it never started. */
export function queuedOf({
  run_at,
  created_at,
  started_at,
  finished_at,
}: Pick<RunListRow, "run_at" | "created_at" | "started_at" | "finished_at">): number | null {
  const until = started_at ?? finished_at;
  if (until === null) return null;
  return Math.max(0, Date.parse(until) - Math.max(Date.parse(created_at), run_at === null ? 0 : Date.parse(run_at)));
}

/** The data of a server-sent event of a run. */
export const runEventSchema = named("RunEvent", {
  run_id: z.uuid(),
  seq: z
    .int()
    .describe(
      "ID of the event: 1, 2, 3 … without gaps. `output.delta` has no ID of its own and carries that of the preceding event.",
    ),
  type: z.enum(RUN_EVENT_TYPES),
  at: z.iso.datetime(),
  data: z
    .record(z.string(), z.unknown())
    .describe("Data of the event. `error`, if present, is a `RunError` with its hint."),
});

/** The data of an event about its node or run. Events are recorded without hints. */
export function presentEventData(data: JsonObject): JsonObject {
  const { error } = data;
  return isObject(error) ? { ...data, error: presentRunError(error as unknown as RunError) } : data;
}
