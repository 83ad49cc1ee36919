import { z } from "zod";
import { anyObject } from "../../json-schema.ts";
import type { Json, JsonObject } from "../../json.ts";
import { handleOf, type FlowDefinition, type FlowGraph, type FlowNode } from "../definition/definition.ts";
import type { FlowLimits } from "../definition/limits.ts";
import { reachable } from "../plan/graph.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import type { NodeConfig } from "../nodes/spec.ts";

/** The inputs and outputs of a flow: the response of `GET /v2/projects/{id}/io-schema`. */
export const flowIoSchema = z
  .object({
    project_id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    version: z.int(),
    content_hash: z.string(),
    inputs: anyObject.describe(
      "JSON Schema 2020-12 of a run's inputs, keyed by node ID. Additional fields are allowed.",
    ),
    // A skipped output, or one on an inactive branch, is null. A run that has not completed has only the outputs computed so far, so none is
    // required.
    outputs: anyObject.describe("JSON Schema 2020-12 of a run's outputs, keyed by node ID."),
    pauses: z.array(
      z.object({
        node_id: z.string(),
        path: z
          .string()
          .describe(
            "Path of a node that can pause: `approval-0`, `map-0/approval-0` inside a map, `llm-0/tools` for an agent's tool calls.",
          ),
        form: anyObject.nullable(),
        actions: z.array(z.object({ id: z.string(), label: z.string().optional() })),
      }),
    ),
    examples: z.array(z.object({ name: z.string(), inputs: anyObject })),
  })
  .meta({ id: "FlowIo" });
export type FlowIo = Readonly<z.output<typeof flowIoSchema>>;
type PausePoint = FlowIo["pauses"][number];

/** Identifies the flow; the rest comes from its definition. */
type FlowIdentity = Pick<FlowIo, "project_id" | "name" | "version" | "content_hash">;

type ObjectSchema = JsonObject & { readonly properties: Readonly<Record<string, JsonObject>> };

const NULL: JsonObject = { type: "null" };
const ANYTHING: JsonObject = {};
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Describes the inputs, outputs and pauses of a valid flow. */
export function describeFlow(
  definition: FlowDefinition,
  { project_id, name, version, content_hash }: FlowIdentity,
  limits: Pick<FlowLimits, "max_input_bytes">,
): FlowIo {
  return {
    project_id,
    name,
    description: definition.description ?? null,
    version,
    content_hash,
    inputs: inputsOf(definition, limits),
    outputs: { $schema: DIALECT, ...outputsOf(definition, outputOf) },
    pauses: pausesOf(definition, ""),
    examples: definition.examples ?? [],
  };
}

function inputsOf({ nodes }: FlowGraph, limits: Pick<FlowLimits, "max_input_bytes">): JsonObject {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  for (const node of nodes) {
    const input = NODE_SPECS[node.type].io.input?.(configOf(node), limits);
    if (!input) continue;
    const title = node.name === undefined ? {} : { title: node.name };
    properties[node.id] = { ...title, ...input.schema, "x-node-type": node.type };
    if (input.required) required.push(node.id);
  }
  return { $schema: DIALECT, type: "object", properties, required, additionalProperties: true };
}

/** The outputs of a flow, whose configurations may be invalid. `schemaOf`: what is known of a node's value. */
export function outputsOf(graph: FlowGraph, schemaOf: (node: FlowNode) => JsonObject): ObjectSchema {
  const certain = certainNodes(graph);
  const properties = graph.nodes
    .filter((node) => node.type === "output")
    .map((node) => {
      const title = node.name === undefined ? {} : { title: node.name };
      const schemas = outputSchemas(graph, node, schemaOf);
      return [node.id, { ...title, ...anyOf(certain.has(node.id) ? schemas : [...schemas, NULL]) }] as const;
    });
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

/**
 * The IDs of nodes that every completed run executes: nodes without an incoming edge, and nodes with an incoming edge that is always
 * active.
 */
function certainNodes({ nodes, edges }: FlowGraph): ReadonlySet<string> {
  const unskipped = new Map(nodes.filter((node) => node.skip_if === undefined).map((node) => [node.id, node]));
  const targets = new Set(edges.map((edge) => edge.target));
  const ways = new Map<string, string[]>();
  for (const edge of edges) {
    // Node types that choose a branch have their own handles, so `out` is always active, unless failures leave by an error branch.
    const always = handleOf(edge) === "out" && unskipped.get(edge.source)?.on_error !== "branch";
    if (always && unskipped.has(edge.target)) ways.set(edge.source, [...(ways.get(edge.source) ?? []), edge.target]);
  }
  const roots = [...unskipped.keys()].filter((id) => !targets.has(id));
  return reachable(roots, (id) => ways.get(id) ?? []);
}

/** The possible values of an output: its own text, or the values of its sources. */
function outputSchemas(
  graph: FlowGraph,
  node: FlowNode,
  schemaOf: (node: FlowNode) => JsonObject,
): readonly JsonObject[] {
  // If the output's own failure takes the error branch, its value is that failure.
  if (node.on_error === "branch") return [ANYTHING];
  const value = node.config?.["value"];
  if (value !== undefined) return withDefault(node, NODE_SPECS.output.io.output({ value }));
  const byId = new Map(graph.nodes.map((other) => [other.id, other]));
  const sources = graph.edges.filter((edge) => edge.target === node.id);
  const schemas = sources.flatMap((edge) => {
    const source = byId.get(edge.source);
    // Outputs after outputs, and the error value on an error branch, are not analysed.
    if (!source || source.type === "output" || handleOf(edge) === "error") return [ANYTHING];
    return withDefault(source, shownSchema(source, schemaOf(source)));
  });
  return withDefault(node, anyOf(schemas));
}

/** The schema of the part of a source's value that an output returns. */
function shownSchema({ type, config }: FlowNode, whole: JsonObject): JsonObject {
  const member = NODE_SPECS[type].outputMember?.(config ?? {});
  const properties = whole["properties"] as Readonly<Record<string, JsonObject>> | undefined;
  return member === undefined ? whole : (properties?.[member] ?? ANYTHING);
}

function outputOf(node: FlowNode): JsonObject {
  return NODE_SPECS[node.type].io.output(configOf(node));
}

function withDefault(node: FlowNode, schema: JsonObject): readonly JsonObject[] {
  return node.on_error === "continue" ? [schema, { const: node.default_output ?? null }] : [schema];
}

function anyOf(schemas: readonly JsonObject[]): JsonObject {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [only] = different;
  if (!only || different.some((schema) => Object.keys(schema).length === 0)) return {};
  return different.length === 1 ? only : { anyOf: different };
}

function pausesOf({ nodes }: FlowGraph, prefix: string): PausePoint[] {
  return nodes.flatMap((node) => {
    const path = `${prefix}${node.id}`;
    const spec = NODE_SPECS[node.type];
    if (spec.nested) return pausesOf(node.config?.["flow"] as FlowGraph, `${path}/`);
    const pause = spec.io.pause?.(configOf(node));
    if (!pause) return [];
    const { below, form, actions } = pause;
    return [{ node_id: node.id, path: below ? `${path}/${below}` : path, form, actions: [...actions] }];
  });
}

function configOf(node: FlowNode): NodeConfig {
  const { flow: _, ...own } = node.config ?? {};
  return NODE_SPECS[node.type].config.parse(own);
}
