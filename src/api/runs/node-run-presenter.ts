import { z } from "zod";
import { NODE_KINDS } from "../../domain/flow/kinds.ts";
import { hintOf } from "../../domain/runs/error-hints.ts";
import { NODE_STATES } from "../../domain/runs/run.ts";
import type { RunError } from "../../domain/runs/run.ts";
import type { AttemptRow, NodeRunRow } from "../../stores/runs/node-runs.ts";
import { asDeclared } from "../http/as-declared.ts";

export const runErrorSchema = z
  .object({
    code: z.string().describe("A stable word, such as `http_status`, `node_timeout` or `run_timeout`."),
    message: z.string(),
    node_id: z.string().nullable(),
    path: z
      .string()
      .nullable()
      .describe("The place of the node: `map-0[2]/guard-0`. Null, like `node_id`, where no node failed."),
    attempt: z.int(),
    retryable: z.boolean().describe("Whether the same could go well another time."),
    hint: z.string().nullable().describe("How to fix such an error; null if the message says enough."),
  })
  .meta({ id: "RunError" });
export type RunErrorView = z.infer<typeof runErrorSchema>;

export function presentRunError(error: RunError | null): RunErrorView | null {
  if (!error) return null;
  const { code, message, node_id, path, attempt, retryable, upstream_status } = error;
  return { code, message, node_id, path, attempt, retryable, hint: hintOf(code, upstream_status) };
}

export const usageSchema = z
  .object({
    input_tokens: z.int(),
    output_tokens: z.int(),
    total_tokens: z.int(),
    cost_usd: z.number().nullable().describe("US dollars; null where a model that was asked has no known price."),
    estimated: z.boolean().describe("Whether an endpoint did not count, so that lengths of texts were taken."),
  })
  .meta({ id: "Usage" });
export type UsageView = z.infer<typeof usageSchema>;

/** The usage, with zero for what was not used. */
export function presentUsage(usage: Readonly<Record<string, unknown>> | null): UsageView {
  const amount = (name: string): number => (typeof usage?.[name] === "number" ? usage[name] : 0);
  return {
    input_tokens: amount("input_tokens"),
    output_tokens: amount("output_tokens"),
    total_tokens: amount("total_tokens"),
    cost_usd: usage?.["cost_usd"] === null ? null : amount("cost_usd"),
    estimated: usage?.["estimated"] === true,
  };
}

const attemptSchema = z
  .object({
    attempt: z.int(),
    started_at: z.iso.datetime().nullable(),
    ended_at: z.iso.datetime().nullable().describe("Null while it is under way."),
    error: runErrorSchema.nullable(),
    next_attempt_at: z.iso.datetime().nullable().describe("When the next one was to begin."),
  })
  .meta({ id: "NodeAttempt" });

export const nodeRunSchema = z
  .object({
    node_id: z.string(),
    type: z.enum(NODE_KINDS),
    path: z.string().describe("`http-0`, or `map-0[3]/http-0` inside an iteration."),
    state: z.enum(NODE_STATES),
    attempts: z.int(),
    inputs: z.unknown(),
    output: z.unknown(),
    truncated: z
      .boolean()
      .describe(
        "Whether `output` is too long for the record, which shows its beginning; `getRunNodeValue` has all of it.",
      ),
    error: runErrorSchema.nullable(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    next_attempt_at: z.iso
      .datetime()
      .nullable()
      .describe("When the next attempt begins: of a node in RETRYING that waits for it."),
    reused: z.boolean().describe("Whether it was taken over from the run that this one resumes (`resumed_from`)."),
    usage: usageSchema,
    attempt_log: z
      .array(attemptSchema)
      .describe("Each attempt, of a node that was tried more than once; of others it is empty."),
    child_run_id: z
      .uuid()
      .nullable()
      .describe("The run of the sub-flow that the node, or the call of a tool, has started."),
  })
  .meta({ id: "NodeRun" });
export type NodeRunView = z.infer<typeof nodeRunSchema>;

/** A node's record with what other tables hold about it. */
export interface PresentableNode {
  readonly row: NodeRunRow;
  readonly attempts: readonly AttemptRow[];
  readonly child_run_id: string | null;
}

export function presentNodeRun({ row: node, attempts, child_run_id }: PresentableNode): NodeRunView {
  return asDeclared(nodeRunSchema, {
    ...node,
    error: presentRunError(node.error),
    usage: presentUsage(node.usage),
    attempt_log: attemptLog(node, attempts),
    child_run_id,
  });
}

/** Events of attempts: one when an attempt fails, one when a slow attempt starts. The node's end reports the last attempt. */
function attemptLog(node: NodeRunRow, rows: readonly AttemptRow[]): NodeRunView["attempt_log"] {
  const log = new Map<number, NodeRunView["attempt_log"][number]>();
  for (const { type, at, attempt, started_at, next_attempt_at, error } of rows) {
    const known = log.get(attempt);
    // Older events have no end time; their time is that of the beginning.
    const hasEnded = type === "node.finished" || (error !== null && started_at !== null);
    log.set(attempt, {
      attempt,
      started_at: known?.started_at ?? (attempt === 1 ? (node.started_at ?? started_at) : (started_at ?? at)),
      ended_at: hasEnded ? at : null,
      error: presentRunError(error),
      next_attempt_at,
    });
  }
  return [...log.values()].toSorted((a, b) => a.attempt - b.attempt);
}
