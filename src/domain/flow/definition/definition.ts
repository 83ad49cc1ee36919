import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../json-schema.ts";
import { NODE_KINDS } from "../kinds.ts";

/** Ids of nodes. They become keys of objects that expressions read, so some names are refused. */
const NODE_ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

const FORBIDDEN_IDS: readonly string[] = ["__proto__", "constructor", "prototype"];

/** Whether a value can be the id of a node. */
export function isNodeId(value: unknown): value is string {
  return typeof value === "string" && NODE_ID_PATTERN.test(value) && !FORBIDDEN_IDS.includes(value);
}

const DAY_MS = 86_400_000;

export const nodeIdSchema = z
  .string()
  .regex(NODE_ID_PATTERN, "An id is 1 to 64 of A-Z, a-z, 0-9, _ and -")
  .refine((id) => !FORBIDDEN_IDS.includes(id), "This name is not allowed as an id")
  .describe("By convention <kind>-<n>: in-0, doc-0, out-0");

const retrySchema = z
  .strictObject({
    max_attempts: z.int().min(1).max(100).exactOptional().describe("Attempts in all; 1 never retries"),
    initial_interval_ms: z.int().min(0).max(DAY_MS).exactOptional().describe("Wait before the second attempt"),
    backoff: z.number().min(1).max(10).exactOptional().describe("Factor by which each wait grows"),
    max_interval_ms: z.int().min(0).max(DAY_MS).exactOptional().describe("Longest wait"),
  })
  .describe("How often a failed attempt is made again; what is left out is the kind's default");

/** A node with an unchecked `config`; the schema of its kind reads that (nodes/index.ts). */
export const nodeSchema = z.strictObject({
  id: nodeIdSchema,
  type: z.enum(NODE_KINDS),
  name: z.string().max(200).exactOptional().describe("What people call the node"),
  config: z.record(z.string(), z.unknown()).exactOptional(),
  retry: retrySchema.exactOptional(),
  timeout_ms: z.int().min(1).max(DAY_MS).exactOptional().describe("Longest time of one attempt"),
  on_error: z
    .enum(["fail", "continue", "branch"])
    .exactOptional()
    .describe(
      "What a failure does: it fails the run (the default), the node yields default_output, or the handle `error` is live",
    ),
  default_output: jsonValueSchema.exactOptional().describe("The value of a failed node whose on_error is continue"),
  skip_if: z.string().exactOptional().describe("CEL; where it holds the node is skipped"),
  notes: z.string().max(10_000).exactOptional().describe("For people; without effect, and no part of the content hash"),
});

export const edgeSchema = z.strictObject({
  source: z.string(),
  source_handle: z
    .string()
    .exactOptional()
    .describe("out (the default), case:<id>, else, error, timeout, or an action of an approval"),
  target: z.string(),
});

const settingsSchema = z.strictObject({
  timeout_seconds: z.int().min(1).exactOptional().describe("Longest time of a run"),
  max_concurrent_runs: z.int().min(1).max(1_000_000).exactOptional(),
  max_cost_usd: z
    .number()
    .positive()
    .max(1_000_000)
    .exactOptional()
    .describe("What a run and its sub-runs may spend on models: once it is reached, no model is asked any more"),
  redact: z
    .array(z.string())
    .max(100)
    .exactOptional()
    .describe(
      'JSON paths masked before anything is stored: $.inputs.in-0, $.nodes["http-0"].output.body.token, $..password',
    ),
});

const exampleSchema = z.strictObject({
  name: z.string().min(1).max(200),
  inputs: jsonObjectSchema.describe("As a run's body: <node_id> to value"),
});

const uiSchema = jsonObjectSchema.describe("For editors; without effect, and no part of the content hash");

/** A flow as it is written, deployed and stored. Node configurations are checked by `validateFlow`, not here. */
export const flowDefinitionSchema = z.strictObject({
  schema_version: z.literal(1),
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).exactOptional(),
  nodes: z.array(nodeSchema),
  edges: z.array(edgeSchema),
  settings: settingsSchema.exactOptional(),
  examples: z.array(exampleSchema).max(100).exactOptional(),
  ui: uiSchema.exactOptional(),
});

export type FlowDefinition = z.infer<typeof flowDefinitionSchema>;
export type FlowNode = z.infer<typeof nodeSchema>;
export type FlowEdge = z.infer<typeof edgeSchema>;
export type FlowExample = z.infer<typeof exampleSchema>;

/** The nodes and edges of a flow, or of the flow inside a map or a loop. */
export interface FlowGraph {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
}

/** The handle through which an edge leaves its source. */
export function handleOf(edge: FlowEdge): string {
  return edge.source_handle ?? "out";
}
