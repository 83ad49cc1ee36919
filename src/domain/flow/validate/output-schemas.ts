import { isObject, type JsonObject } from "../../json.ts";
import { edgeSchema, nodeSchema, type FlowGraph, type FlowNode } from "../definition/definition.ts";
import { outputsOf } from "../io/io-schema.ts";
import { NODE_SPECS } from "../nodes/index.ts";
import type { NodeReference } from "../nodes/spec.ts";
import { opened } from "./follow-schema.ts";

/** Schemas of what actions and other projects' flows return, by `keyOfOutput`. A missing entry means that nothing is known. */
export type OutputsOfOthers = Readonly<Record<string, JsonObject>>;

/** What determines the value of a node. */
export type OutputReference = Pick<NodeReference, "kind" | "id" | "version" | "environment">;

/** The schema of an expression; empty if it is unknown. */
export type SchemaOf = (source: string) => JsonObject;

const UNKNOWN: SchemaOf = () => ({});

export function keyOfOutput({ kind, id, version, environment }: OutputReference): string {
  return `${kind} ${id} ${version ?? ""} ${environment ?? ""}`;
}

/** What the values of a flow's nodes depend on outside the flow, at most `limit` different ones. The flow may be invalid. */
export function outputReferences(flow: unknown, limit: number): OutputReference[] {
  const found = new Map<string, OutputReference>();
  const graphs = [flow];
  // Appends the nested flows that it finds.
  for (const graph of graphs) {
    if (!isGraph(graph)) continue;
    for (const raw of graph.nodes) {
      const node = nodeSchema.safeParse(raw).data;
      if (node?.config?.["flow"] !== undefined) graphs.push(node.config["flow"]);
      const reference = node && referenceOf(node);
      if (reference) found.set(keyOfOutput(reference), reference);
      if (found.size === limit) return [...found.values()];
    }
  }
  return [...found.values()];
}

/** The schema of a node's value, without regard to its failure. `schemaOf` reads what expressions of the node can see. */
export function outputSchemaOf(node: FlowNode, others: OutputsOfOthers, schemaOf: SchemaOf = UNKNOWN): JsonObject {
  const { io, config: reader } = NODE_SPECS[node.type];
  const { flow, ...own } = node.config ?? {};
  const config = reader.safeParse(own).data;
  if (config === undefined) return {};
  const reference = referenceOf(node);
  if (reference) return others[keyOfOutput(reference)] ?? io.output(config);
  if (!io.repeated || !isGraph(flow)) return io.output(config);
  return opened(io.repeated(config, iterationOf(flow, others), schemaOf));
}

/** What an iteration returns: the value of the nested flow's only output, or an object of all outputs. */
function iterationOf(
  flow: { readonly nodes: unknown[]; readonly edges: unknown[] },
  others: OutputsOfOthers,
): JsonObject {
  const graph: FlowGraph = {
    nodes: flow.nodes.flatMap((raw) => nodeSchema.safeParse(raw).data ?? []),
    edges: flow.edges.flatMap((raw) => edgeSchema.safeParse(raw).data ?? []),
  };
  const outputs = outputsOf(graph, (node) => outputSchemaOf(node, others));
  const [only, ...more] = Object.values(outputs.properties);
  if (only === undefined) return {};
  return more.length === 0 ? only : outputs;
}

function referenceOf({ type, config }: FlowNode): OutputReference | undefined {
  const { io, config: reader, references } = NODE_SPECS[type];
  const parsed = io.outputOf === undefined ? undefined : reader.safeParse(config ?? {}).data;
  return parsed && references?.(parsed).find(({ kind }) => kind === io.outputOf);
}

export function isGraph(value: unknown): value is { nodes: unknown[]; edges: unknown[] } {
  return isObject(value) && Array.isArray(value["nodes"]) && Array.isArray(value["edges"]);
}
