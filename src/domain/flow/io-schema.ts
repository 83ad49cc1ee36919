import type { Json, JsonObject } from "../json.ts";
import { handleOf, type FlowDefinition, type FlowExample, type FlowGraph, type FlowNode } from "./definition.ts";
import type { FlowLimits } from "./limits.ts";
import { NODE_SPECS } from "./nodes/index.ts";
import type { NodeConfig, PauseShape } from "./nodes/spec.ts";

/** What a flow takes and gives: the answer of `GET /v2/projects/{id}/io-schema`. */
export interface FlowIo {
  readonly project_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly version: number;
  readonly content_hash: string;
  /** JSON Schema 2020-12 of a run's inputs. */
  readonly inputs: JsonObject;
  /** JSON Schema 2020-12 of a run's outputs. A branch that is not taken leaves its outputs out, so none is required. */
  readonly outputs: JsonObject;
  readonly pauses: readonly PausePoint[];
  readonly examples: readonly FlowExample[];
}

export interface PausePoint extends PauseShape {
  readonly node_id: string;
  /** Where the node stands: "approval-0", or "map-0/approval-0" inside a map. */
  readonly path: string;
}

/** Which flow it is; the rest comes from its definition. */
export interface FlowIdentity {
  readonly project_id: string;
  readonly name: string;
  readonly version: number;
  readonly content_hash: string;
}

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
    outputs: outputsOf(definition),
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

function outputsOf(graph: FlowGraph): JsonObject {
  const properties = graph.nodes
    .filter((node) => node.type === "output")
    .map((node) => {
      const title = node.name === undefined ? {} : { title: node.name };
      return [node.id, { ...title, ...outputSchema(graph, node) }] as const;
    });
  return { $schema: DIALECT, type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
}

/** The schema of an output's value: its own, or whatever its sources can hand on. */
function outputSchema(graph: FlowGraph, node: FlowNode): JsonObject {
  if (configOf(node)["value"] !== undefined) return orDefault(node, NODE_SPECS.output.io.output(configOf(node)));
  const byId = new Map(graph.nodes.map((other) => [other.id, other]));
  const sources = graph.edges.filter((edge) => edge.target === node.id);
  const schemas = sources.map((edge) => {
    const source = byId.get(edge.source);
    // Outputs behind outputs are not followed, nor is what a failed node's branch carries.
    if (!source || source.type === "output" || handleOf(edge) === "error") return {};
    return orDefault(source, NODE_SPECS[source.type].io.output(configOf(source)));
  });
  return anyOf(schemas);
}

function orDefault(node: FlowNode, schema: JsonObject): JsonObject {
  return node.on_error === "continue" ? anyOf([schema, { const: node.default_output ?? null }]) : schema;
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
    return pause ? [{ node_id: node.id, path, ...pause }] : [];
  });
}

function configOf(node: FlowNode): NodeConfig {
  const { flow: _, ...own } = node.config ?? {};
  return NODE_SPECS[node.type].config.parse(own);
}
