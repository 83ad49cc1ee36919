import { z } from "zod";
import { NODE_KINDS } from "../../domain/flow/kinds.ts";
import { NODE_GROUPS } from "../../domain/flow/nodes/spec.ts";

const jsonSchema = z.record(z.string(), z.unknown());

/** The description of a node type, for editors. */
const nodeKindSchema = z
  .object({
    type: z.enum(NODE_KINDS),
    title: z.string().describe("Name of the node type for people."),
    group: z.enum(NODE_GROUPS).describe("Group of the node type in a palette. The list is ordered by group."),
    icon: z.string().describe("Name of an icon. Show a neutral icon for an unknown name."),
    help: z.string().describe("What the node type does, in one line."),
    input: z
      .boolean()
      .describe(
        "Whether the node gets its value from a run's inputs or uploads. Such nodes are allowed only at the top level of a flow.",
      ),
    target: z.boolean().describe("Whether edges may lead to nodes of this type."),
    config: jsonSchema.describe(
      "JSON Schema 2020-12 of `config`. `x-language` (`liquid`, `cel`, `javascript`): the language of a text, and of each text within the value. `x-reference` (`connection`, `knowledge_base`, `project`, `skill`, `provider`, `action`): what the ID names. `x-advanced`: few flows set the field. `x-secret`: the value is a credential. `x-flow`: the nested flow.",
    ),
    handles: z
      .array(
        z.object({
          handle: z.string(),
          each: z
            .string()
            .optional()
            .describe("One handle for each entry of this list in `config`; `{id}` is the ID of the entry."),
          when: z
            .record(z.string(), z.unknown())
            .optional()
            .describe("Values that fields of the node must have for the handle to exist."),
        }),
      )
      .describe("Handles from which edges can leave the node."),
    retry: z
      .object({
        max_attempts: z.int(),
        initial_interval_ms: z.int(),
        backoff: z.number(),
        max_interval_ms: z.int(),
      })
      .describe("Default of `retry`. With one attempt, nodes of this type are not retried unless a node sets `retry`."),
    timeout_ms: z.int().nullable().describe("Default of `timeout_ms`; `null` if attempts have no time limit."),
    example: z.record(z.string(), z.unknown()).describe("An example of `config`, without the nested flow."),
    output: jsonSchema.describe("JSON Schema 2020-12 of the value of a node with the example's `config`."),
  })
  .meta({ id: "NodeKind" });

export const nodeKindsSchema = z.object({ data: z.array(nodeKindSchema) }).meta({ id: "NodeKinds" });
