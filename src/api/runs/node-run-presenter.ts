import { z } from "zod";
import { NODE_KINDS } from "../../domain/flow/kinds.ts";
import { hintOf } from "../../domain/runs/error-hints.ts";
import { NODE_STATES } from "../../domain/runs/run.ts";
import type { RunError } from "../../domain/runs/run.ts";
import type { AttemptRow, NodeRunRow } from "../../stores/runs/node-runs.ts";
import { asDeclared } from "../http/as-declared.ts";

export const runErrorSchema = z
  .object({
    code: z.string().describe("Stable error code, such as `http_status`, `node_timeout` or `run_timeout`."),
    message: z.string(),
    node_id: z.string().nullable(),
    path: z
      .string()
      .nullable()
      .describe("Path of the failed node: `map-0[2]/guard-0`. `null`, like `node_id`, if no node failed."),
    attempt: z.int(),
    retryable: z.boolean().describe("Whether the error may be temporary, so that a retry can succeed."),
    hint: z.string().nullable().describe("How to fix the error; `null` if the message says enough."),
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
    cost_usd: z.number().nullable().describe("Cost in US dollars; `null` if a model without a known price was called."),
    estimated: z
      .boolean()
      .describe("Whether tokens were estimated from text lengths, because an endpoint did not report them."),
  })
  .meta({ id: "Usage" });
export type UsageView = z.infer<typeof usageSchema>;

/** The usage, with zeros for unused kinds. */
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
    ended_at: z.iso.datetime().nullable().describe("End of the attempt; `null` while it is in progress."),
    error: runErrorSchema.nullable(),
    next_attempt_at: z.iso.datetime().nullable().describe("Planned start of the next attempt."),
  })
  .meta({ id: "NodeAttempt" });

export const nodeRunSchema = z
  .object({
    node_id: z.string(),
    type: z.enum(NODE_KINDS),
    path: z.string().describe("Path of the node: `http-0`, or `map-0[3]/http-0` inside an iteration."),
    state: z.enum(NODE_STATES),
    attempts: z.int(),
    inputs: z.unknown(),
    output: z.unknown(),
    truncated: z
      .boolean()
      .describe("Whether `output` is only the beginning of a long value; `getRunNodeValue` returns all of it."),
    error: runErrorSchema.nullable(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    next_attempt_at: z.iso
      .datetime()
      .nullable()
      .describe("When the next attempt starts, if the node is RETRYING and waits for it."),
    pinned: z
      .boolean()
      .describe("Whether its value was given with the run (`pinned` of `POST /v2/runs`) and the node not executed."),
    reused: z.boolean().describe("Whether the result was reused from the run that this one resumes (`resumed_from`)."),
    usage: usageSchema,
    attempt_log: z.array(attemptSchema).describe("All attempts of a node with more than one attempt; otherwise empty."),
    child_run_id: z.uuid().nullable().describe("The child run that the node or tool call started."),
  })
  .meta({ id: "NodeRun" });
export type NodeRunView = z.infer<typeof nodeRunSchema>;

/** A node's record with related data from other tables. */
export interface PresentableNode {
  readonly row: NodeRunRow;
  readonly attempts: readonly AttemptRow[];
  readonly child_run_id: string | null;
  /** Whether the run resumes another one; in all other runs, nodes that were not executed are pinned. */
  readonly resumes: boolean;
}

export function presentNodeRun({ row: node, attempts, child_run_id, resumes }: PresentableNode): NodeRunView {
  return asDeclared(nodeRunSchema, {
    ...node,
    pinned: node.reused && !resumes && node.state === "COMPLETED",
    reused: node.reused && resumes,
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
    // Older events have no end time, and their time is that of the attempt's start.
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
