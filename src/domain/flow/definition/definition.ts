import { z } from "zod";
import { jsonObjectSchema, jsonValueSchema } from "../../json-schema.ts";
import { NODE_KINDS } from "../kinds.ts";

/** Node IDs become keys of objects that expressions read, so some names are rejected. */
const NODE_ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

const FORBIDDEN_IDS: readonly string[] = ["__proto__", "constructor", "prototype"];

/** Whether a value can be the id of a node. */
export function isNodeId(value: unknown): value is string {
  return typeof value === "string" && NODE_ID_PATTERN.test(value) && !FORBIDDEN_IDS.includes(value);
}

const DAY_MS = 86_400_000;

export const nodeIdSchema = z
  .string()
  .regex(NODE_ID_PATTERN, "An ID is 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
  .refine((id) => !FORBIDDEN_IDS.includes(id), "This name is reserved and cannot be used as an ID")
  .describe("Node ID, by convention <type>-<n>: in-0, doc-0, out-0");

const retrySchema = z
  .strictObject({
    max_attempts: z.int().min(1).max(100).exactOptional().describe("Maximum number of attempts; 1 never retries"),
    initial_interval_ms: z.int().min(0).max(DAY_MS).exactOptional().describe("Wait before the second attempt, in ms"),
    backoff: z.number().min(1).max(10).exactOptional().describe("Factor by which the wait grows after each attempt"),
    max_interval_ms: z.int().min(0).max(DAY_MS).exactOptional().describe("Longest wait between attempts, in ms"),
  })
  .describe("Retry policy for failed attempts. Omitted fields use the node type's default");

/** A node with an unchecked `config`, which the schema of its node type reads (nodes/index.ts). */
export const nodeSchema = z.strictObject({
  id: nodeIdSchema,
  type: z.enum(NODE_KINDS),
  name: z.string().max(200).exactOptional().describe("Name of the node for people"),
  config: z.record(z.string(), z.unknown()).exactOptional(),
  retry: retrySchema.exactOptional(),
  timeout_ms: z.int().min(1).max(DAY_MS).exactOptional().describe("Time limit of one attempt, in ms"),
  on_error: z
    .enum(["fail", "continue", "branch"])
    .exactOptional()
    .describe("`fail` (default) fails the run; `continue` uses default_output; `branch` follows the `error` handle"),
  default_output: jsonValueSchema.exactOptional().describe("Value of the node if it fails and on_error is `continue`"),
  skip_if: z.string().exactOptional().describe("CEL condition; the node is skipped if it is true"),
  notes: z
    .string()
    .max(10_000)
    .exactOptional()
    .describe("Notes for people; they do not affect runs or the content hash"),
});

export const edgeSchema = z.strictObject({
  source: z.string(),
  source_handle: z
    .string()
    .exactOptional()
    .describe(
      "The handle of the source node: out (the default), case:<id>, else, error, timeout, or an action of an approval",
    ),
  target: z.string(),
});

const settingsSchema = z.strictObject({
  timeout_seconds: z.int().min(1).exactOptional().describe("Time limit of a run, in seconds"),
  max_concurrent_runs: z.int().min(1).max(1_000_000).exactOptional(),
  max_cost_usd: z
    .number()
    .positive()
    .max(1_000_000)
    .exactOptional()
    .describe(
      "Model cost limit of a run and its child runs, in US dollars: once it is reached, no model is called any more",
    ),
  redact: z
    .array(z.string())
    .max(100)
    .exactOptional()
    .describe(
      'JSON paths that are masked before anything is stored: $.inputs.in-0, $.nodes["http-0"].output.body.token, $..password',
    ),
});

const exampleSchema = z.strictObject({
  name: z.string().min(1).max(200),
  inputs: jsonObjectSchema.describe("Run inputs, as in a run's body: <node_id> to value"),
});

const uiSchema = jsonObjectSchema.describe(
  "Layout for editors; does not affect runs or the content hash. The studio keeps `positions`, `notes` and `locked`",
);

/** A flow as it is written, deployed and stored. `checkFlow` checks the nodes' configurations, not this schema. */
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

/** The nodes and edges of a flow, or of the flow inside a map or a loop. */
export interface FlowGraph {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
}

/** The handle through which an edge leaves its source. */
export function handleOf(edge: FlowEdge): string {
  return edge.source_handle ?? "out";
}
