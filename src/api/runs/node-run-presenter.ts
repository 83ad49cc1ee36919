import { z } from "zod";
import { NODE_KINDS } from "../../domain/flow/plan/types.ts";
import { NODE_STATES } from "../../domain/runs/run.ts";
import type { RunError } from "../../domain/runs/run.ts";
import type { NodeRunRow } from "../../stores/runs/node-runs.ts";

export const runErrorSchema = z
  .object({
    code: z.string().describe("A stable word, such as `http_status`, `node_timeout` or `run_timeout`."),
    message: z.string(),
    node_id: z.string().nullable(),
    path: z
      .string()
      .nullable()
      .describe("Where the node stands: `map-0[2]/guard-0`. Null, like `node_id`, where no node is to blame."),
    attempt: z.int(),
    retryable: z.boolean().describe("Whether the same could go well another time."),
  })
  .meta({ id: "RunError" });
export type RunErrorView = z.infer<typeof runErrorSchema>;

export function presentRunError(error: RunError | null): RunErrorView | null {
  if (!error) return null;
  const { code, message, node_id, path, attempt, retryable } = error;
  return { code, message, node_id, path, attempt, retryable };
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

/** What was used, with zero for what was not. */
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
      .describe("Whether `output` was too long to keep with the record and shows its beginning only."),
    error: runErrorSchema.nullable(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    next_attempt_at: z.iso
      .datetime()
      .nullable()
      .describe("When the next attempt begins: of a node in RETRYING that waits for it."),
    usage: usageSchema,
  })
  .meta({ id: "NodeRun" });
export type NodeRunView = z.infer<typeof nodeRunSchema>;

export function presentNodeRun(node: NodeRunRow): NodeRunView {
  return {
    node_id: node.node_id,
    type: node.type,
    path: node.path,
    state: node.state,
    attempts: node.attempts,
    inputs: node.inputs,
    output: node.output,
    truncated: node.truncated,
    error: presentRunError(node.error),
    started_at: node.started_at,
    finished_at: node.finished_at,
    next_attempt_at: node.next_attempt_at,
    usage: presentUsage(node.usage),
  };
}
