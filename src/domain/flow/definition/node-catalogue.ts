import { z } from "zod";
import type { JsonObject } from "../../json.ts";
import { anyObject, requestSchema } from "../../json-schema.ts";
import { NODE_KINDS, type NodeKind } from "../kinds.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import { NODE_GROUPS, type NodeSpec } from "../nodes/spec.ts";
import { createSampler, type Places, type Schema } from "./sample-config.ts";

/** What editors need to know about a node type. */
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
    config: anyObject.describe(
      "JSON Schema 2020-12 of `config`. `x-language` (`liquid`, `cel`, `javascript`): the language of a text, and of each text within the value. `x-reference` (`connection`, `knowledge_base`, `project`, `skill`, `provider`, `action`): what the ID names. `x-advanced`: few flows set the field. `x-secret`: the value is a credential. `x-flow`: the nested flow.",
    ),
    handles: z
      .array(
        z.object({
          handle: z.string(),
          each: z
            .string()
            .exactOptional()
            .describe("One handle for each entry of this list in `config`; `{id}` is the ID of the entry."),
          when: anyObject.exactOptional().describe("Values that fields of the node must have for the handle to exist."),
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
    example: anyObject.describe("An example of `config`, without the nested flow."),
    output: anyObject.describe("JSON Schema 2020-12 of the value of a node with the example's `config`."),
  })
  .meta({ id: "NodeKind" });

export const nodeKindsSchema = z.object({ data: z.array(nodeKindSchema) }).meta({ id: "NodeKinds" });

export type NodeKindEntry = z.output<typeof nodeKindSchema>;
type HandleRule = NodeKindEntry["handles"][number];

const NESTED: Schema = {
  type: "object",
  title: "Flow",
  description: "The nodes and edges that are run for each iteration; one of them is an output",
  properties: { nodes: { type: "array" }, edges: { type: "array" } },
  required: ["nodes", "edges"],
  additionalProperties: false,
  "x-flow": true,
};

/** Every node type, by group, derived from the specs. */
export function nodeCatalogue(): NodeKindEntry[] {
  const entries = NODE_KINDS.map((type) => describeKind(type, NODE_SPECS[type]));
  return NODE_GROUPS.flatMap((group) => entries.filter((entry) => entry.group === group));
}

function describeKind(type: NodeKind, spec: NodeSpec): NodeKindEntry {
  const { title, group, icon, description: help, retry, timeout_ms = null, example } = spec;
  const { $schema: _, ...schema } = requestSchema(spec.config) as Schema;
  const { sample, places } = createSampler(schema);
  for (const { path, language } of spec.expressions(sample)) mark(places, path, { "x-language": language });
  for (const { path, kind } of spec.references?.(sample) ?? []) {
    // An environment is named, in the project of another field.
    if (kind !== "environment") mark(places, path, { "x-reference": kind });
  }
  const members = (schema["properties"] ?? {}) as Record<string, Schema>;
  for (const name of spec.advanced ?? []) Object.assign(members[name] ?? {}, { "x-advanced": true });
  for (const [name, value] of Object.entries(example)) Object.assign(members[name] ?? {}, { examples: [value] });
  if (spec.nested) {
    schema["properties"] = { ...members, flow: NESTED };
    schema["required"] = [...((schema["required"] as string[] | undefined) ?? []), "flow"];
  }
  return {
    type,
    title,
    group,
    icon,
    help,
    input: spec.input === true,
    target: spec.target !== false,
    config: schema as JsonObject,
    handles: handleRules(spec, sample),
    retry,
    timeout_ms,
    example,
    output: spec.io.output(spec.config.parse(example)),
  };
}

/** The sample has every possible field, so an expression or reference at a location of the sample can occur there in any configuration. */
function mark(places: Places, path: ReadonlyArray<string | number>, marks: Schema): void {
  Object.assign(places.get(JSON.stringify(path)) ?? {}, marks);
}

function handleRules(spec: NodeSpec, sample: Readonly<Record<string, unknown>>): HandleRule[] {
  const rules = spec.handles(sample).map((handle): HandleRule => {
    for (const [each, entries] of Object.entries(sample)) {
      const id = Array.isArray(entries) ? (entries[0] as { readonly id?: unknown } | undefined)?.id : undefined;
      if (typeof id === "string" && handle.includes(id)) return { handle: handle.replace(id, "{id}"), each };
    }
    return { handle };
  });
  return [...rules, { handle: "error", when: { on_error: "branch" } }];
}
