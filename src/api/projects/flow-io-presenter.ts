import { z } from "zod";

const jsonSchema = z.record(z.string(), z.unknown());

/** What a flow takes and gives. */
export const flowIoSchema = z
  .object({
    project_id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    version: z.int(),
    content_hash: z.string(),
    inputs: jsonSchema.describe("JSON Schema 2020-12 of a run's inputs, by node id. Additional members are allowed."),
    outputs: jsonSchema.describe("JSON Schema 2020-12 of a run's outputs, by node id."),
    pauses: z.array(
      z.object({
        node_id: z.string(),
        path: z
          .string()
          .describe('"approval-0", "map-0/approval-0" within a map, "llm-0/tools" of the calls of an agent.'),
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
    code: z.string().describe("A stable word."),
    severity: z.enum(["error", "warning"]),
    node_id: z.string().nullable(),
    node_path: z
      .string()
      .nullable()
      .describe('The node\'s id after the ids of the maps and loops around it, e.g. "map-0/guard-0".'),
    path: z.array(z.union([z.string(), z.int()])).describe("Members and positions that lead to the place in the flow."),
    message: z.string(),
    hint: z.string().nullable(),
  })
  .meta({ id: "FlowProblem" });

export const flowValidationSchema = z
  .object({ valid: z.boolean(), problems: z.array(flowProblemSchema) })
  .meta({ id: "FlowValidation" });
