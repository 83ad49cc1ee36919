import { z } from "zod";

const jsonSchema = z.record(z.string(), z.unknown());

/** The inputs and outputs of a flow. */
export const flowIoSchema = z
  .object({
    project_id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    version: z.int(),
    content_hash: z.string(),
    inputs: jsonSchema.describe(
      "JSON Schema 2020-12 of a run's inputs, keyed by node ID. Additional fields are allowed.",
    ),
    outputs: jsonSchema.describe("JSON Schema 2020-12 of a run's outputs, keyed by node ID."),
    pauses: z.array(
      z.object({
        node_id: z.string(),
        path: z
          .string()
          .describe(
            "Path of a node that can pause: `approval-0`, `map-0/approval-0` inside a map, `llm-0/tools` for an agent's tool calls.",
          ),
        form: jsonSchema.nullable(),
        actions: z.array(z.object({ id: z.string(), label: z.string().optional() })),
      }),
    ),
    examples: z.array(z.object({ name: z.string(), inputs: z.record(z.string(), z.unknown()) })),
  })
  .meta({ id: "FlowIo" });

export const flowSnippetsSchema = z
  .object({ curl: z.string(), python: z.string(), javascript: z.string() })
  .meta({ id: "FlowSnippets" });

const flowProblemSchema = z
  .object({
    code: z.string().describe("Code of the problem. Codes do not change."),
    severity: z.enum(["error", "warning"]),
    node_id: z.string().nullable(),
    node_path: z
      .string()
      .nullable()
      .describe("The node's ID after the IDs of the maps and loops around it, for example `map-0/guard-0`."),
    path: z
      .array(z.union([z.string(), z.int()]))
      .describe("Field names and positions that lead to the location in the flow."),
    message: z.string(),
    hint: z.string().nullable(),
  })
  .meta({ id: "FlowProblem" });

export const flowValidationSchema = z
  .object({ valid: z.boolean(), problems: z.array(flowProblemSchema) })
  .meta({ id: "FlowValidation" });

const place = z.array(z.union([z.string(), z.int()]));

/** The data that the nodes of a flow can refer to. */
const flowScopeSchema = z
  .object({
    values: z.array(
      z.object({
        key: z.string().describe("Key of the value, unique within the flow."),
        kind: z.enum(["node", "inputs", "run", "item", "index", "last"]),
        node_path: z
          .string()
          .nullable()
          .describe("The node that provides the value; for `item`, `index` and `last` the map or loop."),
        liquid: z.string().describe("How to write the value in a Liquid template."),
        cel: z.string().describe("How to write the value in a CEL expression."),
        schema: jsonSchema.describe("JSON Schema 2020-12 of the value; empty if nothing is known."),
      }),
    ),
    nodes: z.array(
      z.object({
        node_path: z.string(),
        path: place,
        sees: z.array(z.string()).describe("Keys of the values that expressions of the node can read."),
      }),
    ),
    edges: z.array(
      z.object({
        path: place,
        fits: z.boolean(),
        problem: z.string().nullable().describe("`code` of the problem that says why the edge does not fit."),
      }),
    ),
  })
  .meta({ id: "FlowScope" });

export const flowCheckSchema = flowValidationSchema
  .extend({ scope: flowScopeSchema.optional().describe("Only with `expand=scope`.") })
  .meta({ id: "FlowCheck" });
