import type { JsonObject } from "../../json.ts";
import { requestSchema } from "../../json-schema.ts";
import { NODE_KINDS, type NodeKind } from "../kinds.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import { NODE_GROUPS, type NodeSpec } from "../nodes/spec.ts";
import { createSampler, type Places, type Schema } from "./sample-config.ts";

/** A handle of a node type. With `each`, there is one for every entry of this field of `config`, and `{id}` stands for the entry's ID. */
export interface HandleRule {
  readonly handle: string;
  readonly each?: string;
  /** Node settings that the handle requires. */
  readonly when?: JsonObject;
}

/** What editors need to know about a node type. */
export interface NodeKindEntry extends Pick<NodeSpec, "title" | "group" | "icon" | "retry" | "example"> {
  readonly type: NodeKind;
  readonly help: string;
  /** Whether a run's inputs or uploads provide its nodes' values; such nodes are allowed only at the top level. */
  readonly input: boolean;
  /** Whether edges may lead to its nodes. */
  readonly target: boolean;
  /** JSON Schema 2020-12 of `config`. */
  readonly config: JsonObject;
  readonly handles: readonly HandleRule[];
  readonly timeout_ms: number | null;
  /** JSON Schema 2020-12 of the value that the example returns. */
  readonly output: JsonObject;
}

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
