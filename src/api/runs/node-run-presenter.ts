import { z } from "zod";
import { NODE_KINDS } from "../../domain/flow/kinds.ts";
import { hintOf } from "../../domain/runs/error-hints.ts";
import { NODE_STATES, type RunError } from "../../domain/runs/run.ts";
import {
  childRunIds,
  listAttempts,
  listNodeRuns,
  outlineNodeRuns,
  type AttemptRow,
  type NodeRunRow,
} from "../../stores/runs/node-runs.ts";
import { childRunEnd } from "../../services/runs/child-run-id.ts";
import type { Database, Db } from "../../stores/db.ts";
import { resumesAnother } from "../../stores/runs/run-reads.ts";
import { asDeclared, named } from "../http/schemas.ts";

export const runErrorSchema = named("RunError", {
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
});
export type RunErrorView = z.infer<typeof runErrorSchema>;

export function presentRunError(error: RunError | null): RunErrorView | null {
  if (!error) return null;
  const { code, message, node_id, path, attempt, retryable, upstream_status } = error;
  return { code, message, node_id, path, attempt, retryable, hint: hintOf(code, upstream_status) };
}

export const usageSchema = named("Usage", {
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  cost_usd: z.number().nullable().describe("Cost in US dollars; `null` if a model without a known price was called."),
  estimated: z
    .boolean()
    .describe("Whether tokens were estimated from text lengths, because an endpoint did not report them."),
});
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

const attemptSchema = named("NodeAttempt", {
  attempt: z.int(),
  started_at: z.iso.datetime().nullable(),
  ended_at: z.iso.datetime().nullable().describe("End of the attempt; `null` while it is in progress."),
  error: runErrorSchema.nullable(),
  next_attempt_at: z.iso.datetime().nullable().describe("Planned start of the next attempt."),
});

export const nodeRunSchema = named("NodeRun", {
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
});
type NodeRunView = z.infer<typeof nodeRunSchema>;

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

/** Most nodes in one response; maps may have many more. Without their values they are short. */
const MAX_NODES = 2000;
const MAX_OUTLINED = 10_000;

/** The nodes of a run, up to the limit of one response. */
export async function viewNodes(
  db: Database,
  { org_id, run_id }: { readonly org_id: string; readonly run_id: string },
  withValues: boolean,
): Promise<{ readonly nodes: NodeRunView[]; readonly nodes_truncated: boolean }> {
  const most = withValues ? MAX_NODES : MAX_OUTLINED;
  return db.org(org_id, async (connection) => {
    const rows = await (withValues ? listNodeRuns : outlineNodeRuns)(connection, run_id, most + 1);
    return { nodes: await viewNodeRows(connection, run_id, rows.slice(0, most)), nodes_truncated: rows.length > most };
  });
}

/** Adds data about nodes from other tables; makes no query if no node has any. */
export async function viewNodeRows(db: Db, runId: string, rows: readonly NodeRunRow[]): Promise<NodeRunView[]> {
  const retried = rows.filter(({ attempts, state }) => attempts > 1 || state === "RETRYING").map(({ path }) => path);
  const attempts = retried.length === 0 ? [] : await listAttempts(db, runId, retried);
  const byPath = new Map<string, AttemptRow[]>(retried.map((path) => [path, []]));
  for (const attempt of attempts) byPath.get(attempt.path)?.push(attempt);
  const calling = rows.filter(({ type, started_at }) => type === "subflow" && started_at !== null);
  const ends = new Map(calling.map(({ path }) => [path, childRunEnd(runId, path)]));
  const children = ends.size === 0 ? [] : await childRunIds(db, runId, [...ends.values()]);
  const byEnd = new Map(children.map((id) => [id.slice(-END), id]));
  // In a run that resumes no other one, nodes that were not executed are pinned.
  const resumes = rows.some(({ reused }) => reused) && (await resumesAnother(db, runId));
  return rows.map((row) =>
    asDeclared(nodeRunSchema, {
      ...row,
      pinned: row.reused && !resumes && row.state === "COMPLETED",
      reused: row.reused && resumes,
      error: presentRunError(row.error),
      usage: presentUsage(row.usage),
      attempt_log: attemptLog(row, byPath.get(row.path) ?? []),
      child_run_id: byEnd.get(ends.get(row.path) ?? "") ?? null,
    }),
  );
}

/** Length of the result of `childRunEnd`. */
const END = 22;
